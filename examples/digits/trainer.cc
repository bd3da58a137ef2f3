#include "examples/digits/trainer.h"

#include "examples/digits/recipe.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace digits {

Trainer::Trainer(dtrain::Strategy& strategy, const Options& options, std::span<const Image> images)
    : strategy_(strategy),
      options_(options),
      images_(images),
      batch_size_(options.batch),
      learning_rate_(options.learning_rate),
      progress_(strategy.zeros<std::uint64_t>("progress", 2)) {
  const Network::Values weights = Network::random_weights(options.seed);
  for (std::size_t t = 0; t < Network::tensor_count; t++) {
    const auto [name, size] = Network::tensors[t];
    const std::string velocity = std::string(name) + ".velocity";
    tensors_.push_back({.weights = strategy.variable<double>(name, weights[t]),
                        .velocity = strategy.zeros<double>(velocity, size, {.slot = true})});
  }
  if (!options.batch_per_rank) return;
  // A batch that is n times as large has a mean gradient with less noise. It needs n times fewer
  // steps, so each step is n times as long (Goyal et al., 2017).
  batch_size_ = strategy.global_batch(options.batch);
  learning_rate_ = strategy.scaled_learning_rate(options.learning_rate);
}

void Trainer::start() {
  if (!options_.resume) return;
  const std::string file = options_.checkpoint.string();
  strategy_.restore(file);
  const std::vector<std::uint64_t> progress = progress_.read();
  epoch_ = progress[0];
  if (progress[1] != options_.seed) {
    throw std::runtime_error(file + ": this training began with another seed; give --seed " +
                             std::to_string(progress[1]));
  }
}

Network::Values Trainer::weights() const {
  Network::Values weights;
  for (std::size_t t = 0; t < weights.size(); t++)
    weights[t] = tensors_[t].weights.read();
  return weights;
}

void Trainer::save() {
  progress_.write(std::array<std::uint64_t, 2>{epoch_, options_.seed});
  strategy_.save(options_.checkpoint.string());
}

double Trainer::train_epoch() {
  const std::vector<std::size_t> order = epoch_order(images_.size(), options_.seed, epoch_);
  // Under parameter_server, the sums are those of this worker's images.
  const auto parts = strategy_.run([&](dtrain::Replica& replica) {
    std::vector<double> loss_and_images(2);
    for (dtrain::Range batch; batch.begin < order.size(); batch.begin = batch.end) {
      batch.end = std::min(batch.begin + batch_size_, order.size());
      loss_and_images[0] += train_part(replica, order, batch);
      loss_and_images[1] += static_cast<double>(replica.shard(batch).size());
    }
    return loss_and_images;
  });
  const std::vector<double> sums = strategy_.reduce(dtrain::Op::sum, parts);
  epoch_++;
  return mean_of_epoch(sums[0], sums[1], epoch_);
}

double Trainer::train_part(dtrain::Replica& replica, std::span<const std::size_t> order,
                           dtrain::Range batch) {
  Network::Views weights;
  for (std::size_t t = 0; t < weights.size(); t++)
    weights[t] = replica.data(tensors_[t].weights);
  const Network network(weights);
  Network::Values gradient = Network::zeros();
  double loss_sum = 0;
  const dtrain::Range ours = replica.shard(batch);
  for (const std::size_t index : order.subspan(ours.begin, ours.size()))
    loss_sum += network.add_gradient(images_[index], gradient);

  // The sums are divided by the size of the whole batch. An average of the replicas' averages would
  // be wrong, because their parts differ in size.
  const double batch_size = static_cast<double>(batch.size());
  std::vector<dtrain::Gradient<double>> gradients;
  for (std::size_t t = 0; t < gradient.size(); t++)
    gradients.push_back({tensors_[t].weights, gradient[t]});
  replica.apply<double>(gradients, dtrain::Op::sum,
                        [&](std::size_t t, std::span<double> values, std::span<const double> sum) {
                          const std::span<double> velocity = replica.data(tensors_[t].velocity);
                          for (std::size_t i = 0; i < values.size(); i++) {
                            velocity[i] = momentum * velocity[i] + sum[i] / batch_size;
                            values[i] -= learning_rate_ * velocity[i];
                          }
                        });
  return loss_sum;
}

}  // namespace digits
