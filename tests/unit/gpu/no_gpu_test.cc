#include "gpu/no_gpu.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("no_gpu_reason has a reason and a remedy for each status without which CUDA works") {
  struct Case {
    int status;
    CudaVersions versions;
    const char* reason;
  };
  const Case cases[] = {
      {3, {12040, 13000}, "NVIDIA's driver cannot be initialised; see nvidia-smi and dmesg"},
      {34,
       {0, 13000},
       "libcuda.so.1 is the stub of a CUDA Toolkit; remove its folder from LD_LIBRARY_PATH"},
      {35,
       {0, 13000},
       "NVIDIA's driver is not installed here (no libcuda.so.1); in a container: docker run "
       "--gpus all"},
      {35,
       {12040, 13000},
       "NVIDIA's driver supports CUDA 12.4, and this build needs 13.0; install a newer driver"},
      {46,
       {13000, 13000},
       "all GPUs are in use by other processes, in exclusive mode; see nvidia-smi"},
      {100,
       {13000, 13000},
       "NVIDIA's driver has none for this process; see CUDA_VISIBLE_DEVICES and nvidia-smi"},
      {802,
       {13000, 13000},
       "NVIDIA's fabric manager does not run; start it: systemctl start nvidia-fabricmanager"},
      {803,
       {13000, 13000},
       "NVIDIA's driver was updated; reboot the host, or load its kernel modules anew"},
      {804,
       {13010, 13000},
       "this GPU cannot use the compatibility package of CUDA 13.1; install a newer driver"},
      {999, {13000, 13000}, "NVIDIA's driver reports an unknown error; see nvidia-smi and dmesg"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.status);
    CHECK(no_gpu_reason(c.status, c.versions) == std::string("no usable GPU: ") + c.reason);
  }
}

TEST_CASE("no_gpu_reason has none for failures of a call, a kernel or memory") {
  for (const int status : {0, 1, 2, 101, 700, 719})
    CHECK_FALSE(no_gpu_reason(status, {13000, 13000}).has_value());
}

}  // namespace
}  // namespace dt
