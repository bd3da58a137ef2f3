#include "gpu/no_gpu.h"

#include "base/format.h"

namespace dt {

namespace {

/// CUDA's numbers (cudaError), which stay the same in all versions.
enum Status : int {
  initialization_error = 3,
  stub_library = 34,
  insufficient_driver = 35,
  devices_unavailable = 46,
  no_device = 100,
  system_not_ready = 802,
  driver_mismatch = 803,
  no_compatibility = 804,
  unknown = 999,
};

std::string driver_reason(const CudaVersions& versions) {
  if (versions.driver == 0) {
    return "NVIDIA's driver is not installed here (no libcuda.so.1); in a container: docker run "
           "--gpus all";
  }
  return format("NVIDIA's driver supports CUDA {}, and this build needs {}; install a newer driver",
                cuda_version_text(versions.driver), cuda_version_text(versions.runtime));
}

std::optional<std::string> reason_of(int status, const CudaVersions& versions) {
  switch (status) {
    case initialization_error:
      return "NVIDIA's driver cannot be initialised; see nvidia-smi and dmesg";
    case stub_library:
      return "libcuda.so.1 is the stub of a CUDA Toolkit; remove its folder from LD_LIBRARY_PATH";
    case insufficient_driver:
      return driver_reason(versions);
    case devices_unavailable:
      return "all GPUs are in use by other processes, in exclusive mode; see nvidia-smi";
    case no_device:
      return "NVIDIA's driver has none for this process; see CUDA_VISIBLE_DEVICES and nvidia-smi";
    case system_not_ready:
      return "NVIDIA's fabric manager does not run; start it: systemctl start "
             "nvidia-fabricmanager";
    case driver_mismatch:
      return "NVIDIA's driver was updated; reboot the host, or load its kernel modules anew";
    case no_compatibility:
      return format(
          "this GPU cannot use the compatibility package of CUDA {}; install a newer driver",
          cuda_version_text(versions.driver));
    case unknown:
      return "NVIDIA's driver reports an unknown error; see nvidia-smi and dmesg";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> no_gpu_reason(int status, const CudaVersions& versions) {
  const auto reason = reason_of(status, versions);
  if (!reason) return std::nullopt;
  return "no usable GPU: " + *reason;
}

std::string cuda_version_text(int version) {
  return format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace dt
