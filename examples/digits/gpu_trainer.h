#pragma once

#include "examples/digits/epoch_trainer.h"
#include "examples/digits/images.h"
#include "examples/digits/options.h"

#include <dtrain/dtrain.hpp>
#include <memory>
#include <span>
#include <string>

namespace digits {

/// A trainer whose rank has a GPU.
struct GpuTraining {
  std::string gpu;  ///< its model
  std::unique_ptr<EpochTrainer> trainer;
};

/// With all ranks: prepares a training on the GPU of this rank. It has the number of the local
/// rank, modulo the number of GPUs that the rank sees. So a rank that sees one GPU uses it. Throws
/// std::runtime_error "no usable GPU: …" with the reason. Requires that `images` are the same on
/// every rank, and that they and `world` outlive the trainer.
GpuTraining prepare_gpu_training(dtrain::Context& world, const Options& options,
                                 std::span<const Image> images);

}  // namespace digits
