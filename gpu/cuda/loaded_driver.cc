#include "gpu/cuda/loaded_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace dt {

namespace {

// The numbers of CUDA's driver API.
constexpr int memory_type = 2;
constexpr int device_ordinal = 9;
constexpr int range_start = 11;
constexpr int range_size = 12;
constexpr unsigned type_device = 2;

PointerQuestion find_question() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  // The handle stays open: the driver is never unloaded.
  return reinterpret_cast<PointerQuestion>(::dlsym(driver, "cuPointerGetAttributes"));
}

/// Returns how many libraries this process has loaded since its start.
unsigned long long libraries_loaded() {
  unsigned long long count = 0;
  const auto take = [](dl_phdr_info* first, size_t /*size*/, void* into) {
    *static_cast<unsigned long long*>(into) = first->dlpi_adds;
    return 1;  // each has the same count
  };
  ::dl_iterate_phdr(take, &count);
  return count;
}

}  // namespace

bool host_has_driver() {
  return ::access("/dev/nvidiactl", F_OK) == 0 || ::access("/dev/dxg", F_OK) == 0;
}

PointerQuestion loaded_driver() {
  static constinit std::atomic<PointerQuestion> known = nullptr;
  static constinit std::atomic<unsigned long long> loaded_without = 0;
  PointerQuestion question = known.load(std::memory_order_acquire);
  if (question != nullptr) return question;
  // dlopen() searches files for a library that is not loaded, which takes longer than a small call.
  const unsigned long long loaded = libraries_loaded();
  if (loaded == loaded_without.load(std::memory_order_relaxed)) return nullptr;
  question = find_question();
  if (question != nullptr) known.store(question, std::memory_order_release);
  if (question == nullptr) loaded_without.store(loaded, std::memory_order_relaxed);
  return question;
}

std::optional<GpuMemory> find_gpu(PointerQuestion ask, const void* address) {
  const auto at = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address));
  unsigned type = 0;
  int device = 0;
  unsigned long long begin = 0;
  size_t bytes = 0;
  std::array attributes = {memory_type, device_ordinal, range_start, range_size};
  std::array<void*, 4> into = {&type, &device, &begin, &bytes};
  const int status = ask(attributes.size(), attributes.data(), into.data(), at);
  if (status != 0 || type != type_device) return std::nullopt;
  const auto* const first = std::bit_cast<const std::byte*>(begin);
  return GpuMemory{.gpu = device, .allocation = {first, bytes}};
}

}  // namespace dt
