#pragma once

#include <string_view>

namespace dt {

/// The GPU parts of this build. All fields are empty when it has none.
struct CudaBuild {
  std::string_view toolkit = {};        ///< "13.0"
  std::string_view architectures = {};  ///< "sm_75 sm_80 compute_90"
  /// The nccl.h with which our prototypes were compared, "2.28.9"; empty: with none.
  std::string_view nccl = {};
};

/// The build chooses cuda_build.cc or no_cuda.cc for it.
CudaBuild cuda_build();

}  // namespace dt
