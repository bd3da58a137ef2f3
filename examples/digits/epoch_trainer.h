#pragma once

#include "examples/digits/network.h"

#include <cstddef>

namespace digits {

/// Trains one network together with all other ranks, on the CPU or on GPUs.
class EpochTrainer {
 public:
  EpochTrainer() = default;
  EpochTrainer(const EpochTrainer&) = delete;
  EpochTrainer& operator=(const EpochTrainer&) = delete;
  virtual ~EpochTrainer() = default;

  /// With all workers: one pass over the images. Returns their mean loss during it. Throws on every
  /// worker when the loss is no longer a number.
  virtual double train_epoch() = 0;

  virtual std::size_t epochs_done() const = 0;
  virtual Network::Values weights() const = 0;
};

}  // namespace digits
