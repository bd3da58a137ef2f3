#include "gpu/cuda/loaded_driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace dt {

namespace {

// The numbers of CUDA's driver API.
constexpr int memory_type = 2;
constexpr int device_ordinal = 9;
constexpr unsigned type_device = 2;

PointerQuestion find_question() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  // The handle stays open: the driver is never unloaded.
  return reinterpret_cast<PointerQuestion>(::dlsym(driver, "cuPointerGetAttribute"));
}

}  // namespace

bool host_has_driver() {
  return ::access("/dev/nvidiactl", F_OK) == 0 || ::access("/dev/dxg", F_OK) == 0;
}

PointerQuestion loaded_driver() {
  static constinit std::atomic<PointerQuestion> known = nullptr;
  PointerQuestion question = known.load(std::memory_order_acquire);
  if (question != nullptr) return question;
  question = find_question();
  known.store(question, std::memory_order_release);
  return question;
}

std::optional<int> find_gpu(PointerQuestion ask, const void* address) {
  const auto at = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address));
  unsigned type = 0;
  int device = 0;
  // Fails for addresses that CUDA does not know.
  if (ask(&type, memory_type, at) != 0 || type != type_device) return std::nullopt;
  if (ask(&device, device_ordinal, at) != 0) return std::nullopt;
  return device;
}

}  // namespace dt
