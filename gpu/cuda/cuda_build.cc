#include "gpu/cuda/cuda_build.h"

namespace dt {

CudaBuild cuda_build() {
  return {.toolkit = DTRAIN_CUDA_VERSION,
          .architectures = DTRAIN_CUDA_ARCHITECTURES,
          .nccl = DTRAIN_NCCL_VERSION};
}

}  // namespace dt
