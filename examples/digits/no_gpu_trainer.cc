// For builds without a CUDA Toolkit, and those with sanitizers.
#include "examples/digits/gpu_trainer.h"

#include <stdexcept>

namespace digits {

GpuTraining prepare_gpu_training(dtrain::Context& /*world*/, const Options& /*options*/,
                                 std::span<const Image> /*images*/) {
  throw std::runtime_error(
      "no usable GPU: this build of digits has no GPU parts; build it where there is a CUDA "
      "Toolkit, or give --device cpu");
}

}  // namespace digits
