#pragma once

#include "examples/digits/epoch_trainer.h"
#include "examples/digits/gpu_math.cuh"
#include "examples/digits/images.h"
#include "examples/digits/options.h"
#include "examples/digits/recipe.h"
#include "examples/digits/sampling.h"

#include <algorithm>
#include <cstddef>
#include <dtrain/dtrain.hpp>
#include <span>
#include <vector>

namespace digits {

/// The memory in which a device computes a gradient.
struct GradientMemory {
  const double* weights = nullptr;  ///< weight_count
  double* hidden = nullptr;         ///< hidden_count for each image of a part
  double* scores = nullptr;         ///< digit_count for each image
  double* log_sums = nullptr;       ///< 1 for each image, as losses
  double* losses = nullptr;
  double* score_slopes = nullptr;
  double* hidden_slopes = nullptr;
  double* sums = nullptr;  ///< weight_count, and the sum of the losses behind them
};

/// Queues the gradient of a part of a batch. `device.for_each(count, function)` calls the function
/// with each index.
template <class Device>
void queue_gradient(Device& device, const BatchPart& part, const GradientMemory& to) {
  const std::size_t n = part.count;
  device.for_each(n * hidden_count, HiddenUnits{part, to.weights, to.hidden});
  device.for_each(n * digit_count, Scores{to.weights, to.hidden, to.scores});
  device.for_each(n, Losses{part, to.scores, to.log_sums, to.losses});
  device.for_each(n * digit_count, ScoreSlopes{part, to.scores, to.log_sums, to.score_slopes});
  device.for_each(n * hidden_count,
                  HiddenSlopes{to.weights, to.hidden, to.score_slopes, to.hidden_slopes});

  device.for_each(pixel_count * hidden_count, HiddenWeightSums{part, to.hidden_slopes, to.sums});
  device.for_each(hidden_count,
                  ImageSums{n, hidden_count, to.hidden_slopes, to.sums + hidden_biases_at});
  device.for_each(hidden_count * digit_count,
                  OutputWeightSums{n, to.hidden, to.score_slopes, to.sums + output_weights_at});
  device.for_each(digit_count,
                  ImageSums{n, digit_count, to.score_slopes, to.sums + output_biases_at});
  device.for_each(1, ImageSums{n, 1, to.losses, to.sums + weight_count});
}

/// Trains one network on one device for each rank. Weights, images and gradients stay in memory of
/// the device. One all_reduce for each batch adds the gradients of all ranks there.
///
/// A Device does the following in the order of the calls, maybe later. `download` waits for it.
/// - `allocate<T>(count)` returns memory, which the device owns
/// - `upload(to, values)`, `download(values, from)`
/// - `for_each(count, function)`
/// - `all_reduce(values)` sums over all ranks
template <class Device>
class DeviceTrainer final : public EpochTrainer {
 public:
  /// Requires that `images` are the same on every rank and outlive this, as the device does.
  DeviceTrainer(Device& device, const dtrain::Context& world, const Options& options,
                std::span<const Image> images)
      : device_(device),
        images_(images),
        rank_(static_cast<std::size_t>(world.rank())),
        ranks_(static_cast<std::size_t>(world.size())),
        seed_(options.seed),
        batch_size_(options.batch),
        learning_rate_(options.learning_rate) {
    if (options.batch_per_rank) {  // see Trainer
      batch_size_ *= ranks_;
      learning_rate_ *= static_cast<double>(ranks_);
    }
    upload_images();
    upload_weights();
    const std::size_t part_max = std::min(batch_size_, images.size()) / ranks_ + 1;
    memory_.hidden = device.template allocate<double>(part_max * hidden_count);
    memory_.hidden_slopes = device.template allocate<double>(part_max * hidden_count);
    memory_.scores = device.template allocate<double>(part_max * digit_count);
    memory_.score_slopes = device.template allocate<double>(part_max * digit_count);
    memory_.log_sums = device.template allocate<double>(part_max);
    memory_.losses = device.template allocate<double>(part_max);
    memory_.sums = device.template allocate<double>(weight_count + 1);
    loss_sum_ = device.template allocate<double>(1);
  }

  double train_epoch() override {
    const std::vector<std::size_t> order = epoch_order(images_.size(), seed_, epoch_);
    device_.upload(order_, std::span(order));
    double loss_sum = 0;
    device_.upload(loss_sum_, std::span<const double>(&loss_sum, 1));
    for (dtrain::Range batch; batch.begin < order.size(); batch.begin = batch.end) {
      batch.end = std::min(batch.begin + batch_size_, order.size());
      train_batch(batch);
    }
    device_.download(std::span(&loss_sum, 1), loss_sum_);
    epoch_++;
    return mean_of_epoch(loss_sum, static_cast<double>(order.size()), epoch_);
  }

  std::size_t epochs_done() const override { return epoch_; }

  Network::Values weights() const override {
    Network::Values weights = Network::zeros();
    for (std::size_t t = 0; t < weights.size(); t++)
      device_.download(std::span(weights[t]), weights_ + tensor_begin(t));
    return weights;
  }

 private:
  void upload_images() {
    std::vector<double> pixels;
    std::vector<std::size_t> digits;
    for (const Image& image : images_) {
      pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
      digits.push_back(image.digit);
    }
    pixels_ = device_.template allocate<double>(pixels.size());
    digits_ = device_.template allocate<std::size_t>(digits.size());
    order_ = device_.template allocate<std::size_t>(digits.size());
    device_.upload(pixels_, std::span<const double>(pixels));
    device_.upload(digits_, std::span<const std::size_t>(digits));
  }

  void upload_weights() {
    weights_ = device_.template allocate<double>(weight_count);
    velocity_ = device_.template allocate<double>(weight_count);
    const Network::Values weights = Network::random_weights(seed_);
    for (std::size_t t = 0; t < weights.size(); t++)
      device_.upload(weights_ + tensor_begin(t), std::span(weights[t]));
    const std::vector<double> zeros(weight_count);
    device_.upload(velocity_, std::span(zeros));
    memory_.weights = weights_;
  }

  void train_batch(dtrain::Range batch) {
    const dtrain::Range ours = dtrain::shard(batch, rank_, ranks_);
    queue_gradient(device_, {pixels_, digits_, order_ + ours.begin, ours.size()}, memory_);
    device_.all_reduce(std::span(memory_.sums, weight_count + 1));
    // The sums are divided by the size of the whole batch, as the ranks' parts differ in size.
    device_.for_each(weight_count,
                     MomentumStep{momentum, learning_rate_, static_cast<double>(batch.size()),
                                  memory_.sums, velocity_, weights_});
    device_.for_each(1, AddTo{memory_.sums + weight_count, loss_sum_});
  }

  Device& device_;
  std::span<const Image> images_;
  std::size_t rank_;
  std::size_t ranks_;
  std::uint64_t seed_;
  std::size_t batch_size_;
  double learning_rate_;
  std::size_t epoch_ = 0;

  // Memory of the device.
  double* pixels_ = nullptr;
  std::size_t* digits_ = nullptr;
  std::size_t* order_ = nullptr;
  double* weights_ = nullptr;
  double* velocity_ = nullptr;
  double* loss_sum_ = nullptr;  ///< over all ranks and the batches of an epoch
  GradientMemory memory_;
};

}  // namespace digits
