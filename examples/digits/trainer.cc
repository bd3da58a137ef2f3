#include "examples/digits/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace digits {
namespace {

constexpr double momentum = 0.9;

}  // namespace

Trainer::Trainer(dtrain::Strategy& strategy, const Options& options, std::span<const Image> images)
    : strategy_(strategy),
      options_(options),
      images_(images),
      batch_size_(options.batch),
      learning_rate_(options.learning_rate),
      weights_(strategy.variable<double>("weights", Network::random_weights(options.seed))),
      velocity_(strategy.zeros<double>("velocity", Network::weight_count)),
      progress_(strategy.zeros<std::uint64_t>("progress", 2)) {
  if (!options.batch_per_rank) return;
  // A batch that is n times as large has a mean gradient with less noise, and needs n times fewer
  // steps. So the steps are n times as long (Goyal et al., 2017).
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

void Trainer::save() {
  progress_.write(std::array<std::uint64_t, 2>{epoch_, options_.seed});
  strategy_.save(options_.checkpoint.string());
}

double Trainer::train_epoch() {
  const std::vector<std::size_t> order = epoch_order(images_.size(), options_.seed, epoch_);
  const auto losses = strategy_.run([&](dtrain::Replica& replica) {
    double loss_sum = 0;
    for (dtrain::Range batch; batch.begin < order.size(); batch.begin = batch.end) {
      batch.end = std::min(batch.begin + batch_size_, order.size());
      loss_sum += train_part(replica, order, batch);
    }
    return loss_sum;
  });
  const double loss_sum = strategy_.reduce(dtrain::Op::sum, losses);
  epoch_++;
  if (!std::isfinite(loss_sum)) {
    throw std::runtime_error("the loss is no longer a number in epoch " + std::to_string(epoch_) +
                             "; try a smaller --learning-rate");
  }
  return loss_sum / static_cast<double>(order.size());
}

double Trainer::train_part(dtrain::Replica& replica, std::span<const std::size_t> order,
                           dtrain::Range batch) {
  const Network network(replica.data(weights_));
  std::vector<double> gradient(Network::weight_count);
  double loss_sum = 0;
  const dtrain::Range ours = replica.shard(batch);
  for (const std::size_t index : order.subspan(ours.begin, ours.size()))
    loss_sum += network.add_gradient(images_[index], gradient);

  // The sums are divided by the size of the whole batch. An average of the replicas' averages would
  // be wrong, because their parts differ in size.
  const double batch_size = static_cast<double>(batch.size());
  replica.apply<double>({{weights_, gradient}}, dtrain::Op::sum,
                        [&](std::size_t, std::span<double> weights, std::span<const double> sum) {
                          const std::span<double> velocity = replica.data(velocity_);
                          for (std::size_t i = 0; i < weights.size(); i++) {
                            velocity[i] = momentum * velocity[i] + sum[i] / batch_size;
                            weights[i] -= learning_rate_ * velocity[i];
                          }
                        });
  return loss_sum;
}

}  // namespace digits
