// For builds without CUDA: stands in for the other files of this folder.
#include "gpu/cuda/cuda_build.h"

namespace dt {

CudaBuild cuda_build() {
  return {};
}

}  // namespace dt
