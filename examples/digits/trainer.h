#pragma once

#include "examples/digits/checkpoint.h"
#include "examples/digits/images.h"
#include "examples/digits/network.h"
#include "examples/digits/options.h"
#include "examples/digits/sampling.h"

#include <cstddef>
#include <cstdint>
#include <dtrain/dtrain.hpp>
#include <span>
#include <vector>

namespace digits {

/// Trains one network on all ranks. Each rank computes the gradient of its part of every batch.
/// all_reduce adds the gradients, and each rank makes the same step (SGD with momentum). So the
/// weights stay equal on all ranks.
///
/// Every rank must call the functions marked "With all ranks", in the same order.
class Trainer {
 public:
  /// Requires that `images` are the same on every rank and outlive the trainer.
  Trainer(dtrain::Context& world, const Options& options, std::span<const Image> images);

  /// With all ranks: rank 0 reads the checkpoint, or makes random weights, and broadcasts them. If
  /// the checkpoint is wrong, rank 0 throws the reason, and the others throw dtrain::Error.
  void start();

  /// With all ranks: one pass over the images. Returns their mean loss during it. Throws on every
  /// rank when the loss is no longer a number.
  double train_epoch();

  std::size_t epochs_done() const { return epoch_; }
  const Network& network() const { return network_; }
  Checkpoint checkpoint() const;

 private:
  void load(Checkpoint checkpoint);
  /// Returns the sum of the losses of the images at `batch` of `order`.
  double train_batch(std::span<const std::size_t> order, Range batch);

  dtrain::Context& world_;
  const Options& options_;
  std::span<const Image> images_;
  std::size_t batch_size_;
  double learning_rate_;

  std::uint64_t epoch_ = 0;
  Network network_;
  std::vector<double> velocity_;
  /// The sum of the gradients and, as last number, of the losses.
  std::vector<double> sums_;
};

}  // namespace digits
