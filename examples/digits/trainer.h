#pragma once

#include "examples/digits/epoch_trainer.h"
#include "examples/digits/images.h"
#include "examples/digits/network.h"
#include "examples/digits/options.h"
#include "examples/digits/sampling.h"

#include <cstddef>
#include <cstdint>
#include <dtrain/dtrain_strategy.hpp>
#include <span>
#include <vector>

namespace digits {

/// Trains one network on all replicas, under any strategy. Each replica computes the gradient of
/// its part of every batch. The function apply() adds the gradients of all tensors and makes the
/// step, which is SGD with momentum. So all copies of the weights stay equal.
///
/// Every worker must call the functions marked "With all workers", in the same order.
class Trainer final : public EpochTrainer {
 public:
  /// With all workers. Requires that `images` are the same on every worker and outlive the trainer.
  Trainer(dtrain::Strategy& strategy, const Options& options, std::span<const Image> images);

  /// With all workers: reads the checkpoint, if --resume asks for it. Throws on every worker when
  /// it is wrong.
  void start();

  double train_epoch() override;

  /// With all workers: writes the checkpoint. Throws on every worker when it cannot be written.
  void save();

  std::size_t epochs_done() const override { return epoch_; }
  Network::Values weights() const override;

 private:
  /// The variables of a tensor.
  struct Tensor {
    dtrain::Variable<double> weights;
    dtrain::Variable<double> velocity;
  };

  /// Returns the sum of the losses of a replica's part of the batch.
  double train_part(dtrain::Replica& replica, std::span<const std::size_t> order,
                    dtrain::Range batch);

  dtrain::Strategy& strategy_;
  const Options& options_;
  std::span<const Image> images_;
  std::size_t batch_size_;
  double learning_rate_;

  std::size_t epoch_ = 0;
  std::vector<Tensor> tensors_ = {};
  /// The epochs done, and the seed, for checkpoints.
  dtrain::Variable<std::uint64_t> progress_;
};

}  // namespace digits
