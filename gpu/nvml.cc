#include "gpu/nvml.h"

#include "base/format.h"
#include "base/text.h"

#include <dlfcn.h>

namespace dt {

namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

/// As find(), but records the name of a missing function.
template <class Function>
void need(void* library, const char* name, Function& function, std::string& missing) {
  find(library, name, function);
  if (function == nullptr && missing.empty()) missing = name;
}

/// Finds all functions. Returns the name of a required function that is missing, or "".
std::string find_functions(void* library, Nvml::Functions& functions) {
  std::string missing;
  need(library, "nvmlInit_v2", functions.init, missing);
  need(library, "nvmlShutdown", functions.shutdown, missing);
  need(library, "nvmlErrorString", functions.error_string, missing);
  need(library, "nvmlDeviceGetCount_v2", functions.device_count, missing);
  need(library, "nvmlDeviceGetHandleByIndex_v2", functions.device_by_index, missing);
  need(library, "nvmlDeviceGetUUID", functions.uuid, missing);
  find(library, "nvmlDeviceGetName", functions.name);
  find(library, "nvmlDeviceGetMemoryInfo", functions.memory);
  find(library, "nvmlDeviceGetPciInfo_v3", functions.pci_info);
  find(library, "nvmlSystemGetDriverVersion", functions.driver_version);
  find(library, "nvmlSystemGetCudaDriverVersion_v2", functions.cuda_version);
  find(library, "nvmlDeviceGetMigMode", functions.mig_mode);
  find(library, "nvmlDeviceGetMaxMigDeviceCount", functions.mig_count_max);
  find(library, "nvmlDeviceGetMigDeviceHandleByIndex", functions.mig_by_index);
  find(library, "nvmlDeviceGetComputeMode", functions.compute_mode);
  find(library, "nvmlDeviceGetMemoryAffinity", functions.memory_affinity);
  find(library, "nvmlDeviceGetTopologyCommonAncestor", functions.common_ancestor);
  find(library, "nvmlDeviceGetP2PStatus", functions.p2p_status);
  return missing;
}

/// Returns the remedy for a status, for people.
std::string advice(int status) {
  switch (status) {
    case Nvml::driver_not_loaded:
      return "; load the kernel's part of NVIDIA's driver (modprobe nvidia), or give slots";
    case Nvml::version_mismatch:
      return "; NVIDIA's driver was updated: reboot the host, or load its kernel modules anew";
    case Nvml::no_permission:
      return "; this user may not open /dev/nvidiactl";
    default:
      return "; see nvidia-smi";
  }
}

}  // namespace

Nvml::Session::~Session() {
  if (initialised) functions.shutdown();
  dlclose(handle);
}

Result<Nvml> Nvml::open(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    // The loader's message names the file and the reason.
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps the text for each thread
    const std::string why = dlerror();
    const bool absent = why.starts_with(library) && why.find("No such file") != std::string::npos;
    return fail(absent ? Errc::not_found : Errc::os,
                format("cannot list GPUs: {}", printable(why, 300)));
  }
  auto session = std::make_unique<Session>(handle);
  Functions& functions = session->functions;
  if (const std::string missing = find_functions(handle, functions); !missing.empty()) {
    return fail(Errc::mismatch, format("cannot list GPUs: {} has no {}; NVIDIA's driver is too old",
                                       library, missing));
  }
  if (const int status = functions.init(); status != success) {
    return fail(Errc::os, format("cannot list GPUs: NVML says \"{}\"{}",
                                 functions.error_string(status), advice(status)));
  }
  session->initialised = true;
  return Nvml(std::move(session));
}

std::string Nvml::text(int status) const {
  return session_->functions.error_string(status);
}

}  // namespace dt
