#include "examples/digits/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace digits {
namespace {

constexpr double momentum = 0.9;

}  // namespace

Trainer::Trainer(dtrain::Context& world, const Options& options, std::span<const Image> images)
    : world_(world),
      options_(options),
      images_(images),
      batch_size_(options.batch),
      learning_rate_(options.learning_rate),
      velocity_(Network::weight_count),
      sums_(Network::weight_count + 1) {
  if (!options.batch_per_rank) return;
  // A batch that is n times as large has a mean gradient with less noise, and needs n times fewer
  // steps. So the steps are n times as long (Goyal et al., 2017).
  batch_size_ *= static_cast<std::size_t>(world.size());
  learning_rate_ *= world.size();
}

void Trainer::start() {
  if (world_.rank() == 0) {
    if (options_.resume) {
      load(read_checkpoint(options_.checkpoint));
    } else {
      network_.randomize(options_.seed);
    }
  }
  world_.broadcast(std::span(&epoch_, 1), 0);
  world_.broadcast(network_.weights(), 0);
  world_.broadcast(velocity_, 0);
}

void Trainer::load(Checkpoint checkpoint) {
  const std::string file = options_.checkpoint.string();
  if (checkpoint.weights.size() != Network::weight_count ||
      checkpoint.velocity.size() != Network::weight_count) {
    throw std::runtime_error(file + ": a checkpoint of a network of another size");
  }
  if (checkpoint.seed != options_.seed) {
    throw std::runtime_error(file + ": this training began with another seed; give --seed " +
                             std::to_string(checkpoint.seed));
  }
  epoch_ = checkpoint.epoch;
  std::copy(checkpoint.weights.begin(), checkpoint.weights.end(), network_.weights().begin());
  velocity_ = std::move(checkpoint.velocity);
}

Checkpoint Trainer::checkpoint() const {
  const std::span<const double> weights = network_.weights();
  return {.epoch = epoch_,
          .seed = options_.seed,
          .weights = {weights.begin(), weights.end()},
          .velocity = velocity_};
}

double Trainer::train_epoch() {
  const std::vector<std::size_t> order = epoch_order(images_.size(), options_.seed, epoch_);
  double loss_sum = 0;
  for (Range batch; batch.begin < order.size(); batch.begin = batch.end) {
    batch.end = std::min(batch.begin + batch_size_, order.size());
    loss_sum += train_batch(order, batch);
  }
  epoch_++;
  if (!std::isfinite(loss_sum)) {
    throw std::runtime_error("the loss is no longer a number in epoch " + std::to_string(epoch_) +
                             "; try a smaller --learning-rate");
  }
  return loss_sum / static_cast<double>(order.size());
}

double Trainer::train_batch(std::span<const std::size_t> order, Range batch) {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  const std::span<double> gradient = std::span(sums_).first(Network::weight_count);
  const Range ours = shard(batch, static_cast<std::size_t>(world_.rank()),
                           static_cast<std::size_t>(world_.size()));
  for (const std::size_t index : order.subspan(ours.begin, ours.size())) {
    sums_.back() += network_.add_gradient(images_[index], gradient);
  }

  // The sums are divided by the size of the whole batch. An average of the ranks' averages would be
  // wrong, because their parts differ in size.
  const auto [hidden, output] = Network::layers(gradient);
  const std::array tensors = {hidden, output, std::span(sums_).last(1)};
  world_.all_reduce_list(tensors, dtrain::Op::sum, {.name = "gradient"});

  const std::span<double> weights = network_.weights();
  const double batch_size = static_cast<double>(batch.size());
  for (std::size_t i = 0; i < weights.size(); i++) {
    velocity_[i] = momentum * velocity_[i] + gradient[i] / batch_size;
    weights[i] -= learning_rate_ * velocity_[i];
  }
  return sums_.back();
}

}  // namespace digits
