#pragma once

#include "base/result.h"

#include <memory>
#include <string>

namespace dt {

/// NVIDIA's management library (NVML), loaded at run time: hosts without NVIDIA's driver do not
/// have it. It opens no CUDA context. The types are those of its ABI, which NVIDIA keeps stable
/// under the versioned names.
class Nvml {
 public:
  using Device = void*;
  struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
  };
  struct Memory {
    unsigned long long total, free, used;
  };
  /// The results of its functions that we distinguish.
  enum Status : int {
    success = 0,
    no_permission = 4,
    not_found = 6,
    driver_not_loaded = 9,
    gpu_is_lost = 15,
    version_mismatch = 18,
  };
  /// Required functions are never null: open() fails without them, because the driver is too old.
  /// Optional ones may be null.
  struct Functions {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char* (*error_string)(int) = nullptr;
    int (*device_count)(unsigned*) = nullptr;
    int (*device_by_index)(unsigned, Device*) = nullptr;
    int (*uuid)(Device, char*, unsigned) = nullptr;
    int (*name)(Device, char*, unsigned) = nullptr;
    int (*memory)(Device, Memory*) = nullptr;
    int (*pci_info)(Device, PciInfo*) = nullptr;
    int (*driver_version)(char*, unsigned) = nullptr;
    int (*cuda_version)(int*) = nullptr;
    int (*mig_mode)(Device, unsigned* current, unsigned* pending) = nullptr;
    int (*mig_count_max)(Device, unsigned*) = nullptr;
    int (*mig_by_index)(Device, unsigned, Device*) = nullptr;
    int (*compute_mode)(Device, int*) = nullptr;
    int (*memory_affinity)(Device, unsigned words, unsigned long*, unsigned scope) = nullptr;
    int (*common_ancestor)(Device, Device, int*) = nullptr;
    int (*p2p_status)(Device, Device, int capability, int*) = nullptr;
  };

  /// Loads and initialises the library. Fails with Errc::not_found when it does not exist, as on
  /// hosts without GPUs. Any other error deserves a message.
  static Result<Nvml> open(const std::string& library);

  const Functions* operator->() const { return &session_->functions; }
  /// Returns NVML's text for a status: "GPU is lost".
  std::string text(int status) const;

 private:
  /// The loaded library; the destructor shuts it down and unloads it.
  struct Session {
    explicit Session(void* loaded) : handle(loaded) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();
    void* handle;
    Functions functions;
    bool initialised = false;
  };
  explicit Nvml(std::unique_ptr<Session> session) : session_(std::move(session)) {}
  std::unique_ptr<Session> session_;
};

}  // namespace dt
