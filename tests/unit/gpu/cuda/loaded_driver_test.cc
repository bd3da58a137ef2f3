#include "gpu/cuda/loaded_driver.h"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace dt {
namespace {

/// Stands in for cuPointerGetAttribute(): addresses from 0x1000 lie on GPU 3, and those from 0x2000
/// in pinned memory.
int ask(void* into, int attribute, unsigned long long address) {
  constexpr int invalid_value = 1;
  const bool device = address >= 0x1000 && address < 0x2000;
  if (!device && address < 0x2000) return invalid_value;
  if (attribute == 2) *static_cast<unsigned*>(into) = device ? 2 : 1;
  if (attribute == 9) *static_cast<int*>(into) = 3;
  return 0;
}

const void* at(uintptr_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

TEST_CASE("the driver names the GPU of an address, and memory of the host has none") {
  CHECK(find_gpu(ask, at(0x1000)) == 3);
  CHECK(find_gpu(ask, at(0x1fff)) == 3);
  CHECK_FALSE(find_gpu(ask, at(0x2000)).has_value());
  CHECK_FALSE(find_gpu(ask, at(0x10)).has_value());
}

TEST_CASE("a driver that fails for the number of the GPU names none") {
  const PointerQuestion fails = [](void* into, int attribute, unsigned long long /*address*/) {
    if (attribute == 2) *static_cast<unsigned*>(into) = 2;
    return attribute == 2 ? 0 : 3;
  };
  CHECK_FALSE(find_gpu(fails, at(0x1000)).has_value());
}

TEST_CASE("a driver that the process loads later is found") {
  if (loaded_driver() != nullptr) return;  // a test with GPUs came first
  // A child, because a driver is never unloaded.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool loaded = dlopen(FAKE_DRIVER, RTLD_NOW) != nullptr;
    _exit(loaded && loaded_driver() != nullptr ? 0 : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace dt
