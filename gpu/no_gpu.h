#pragma once

#include <optional>
#include <string>

namespace dt {

/// Versions in CUDA's numbers: 13000 is 13.0. 0: there is no driver.
struct CudaVersions {
  int driver = 0;   ///< the newest that the driver supports
  int runtime = 0;  ///< of the runtime in this build
};

/// Returns "no usable GPU: …" with the reason and the remedy. Does so for the status with which
/// CUDA's runtime refuses to work on this host at all. Returns none for other failures.
std::optional<std::string> no_gpu_reason(int status, const CudaVersions& versions);

/// Returns "13.0" for 13000.
std::string cuda_version_text(int version);

}  // namespace dt
