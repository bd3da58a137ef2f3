#include "gpu/cuda/loaded_driver.h"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace dt {
namespace {

/// Stands in for cuPointerGetAttributes(): addresses from 0x1000 lie on GPU 3, and those from
/// 0x2000 in pinned memory.
int ask(unsigned count, int* attributes, void** into, unsigned long long address) {
  const bool device = address >= 0x1000 && address < 0x2000;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned type = device ? 2 : address < 0x2000 ? 0 : 1;
    if (attributes[i] == 2) *static_cast<unsigned*>(into[i]) = type;
    if (attributes[i] == 9) *static_cast<int*>(into[i]) = 3;
    if (attributes[i] == 11) *static_cast<uintptr_t*>(into[i]) = device ? 0x1000 : 0;
    if (attributes[i] == 12) *static_cast<size_t*>(into[i]) = device ? 0x1000 : 0;
  }
  return 0;
}

const void* at(uintptr_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

TEST_CASE(
    "the driver names the GPU and the memory of an address, and memory of the host has none") {
  for (const uintptr_t address : {0x1000, 0x1fff}) {
    const auto found = find_gpu(ask, at(address));
    REQUIRE(found.has_value());
    CHECK(found->gpu == 3);
    CHECK(found->allocation.data() == at(0x1000));
    CHECK(found->allocation.size() == 0x1000);
  }
  CHECK_FALSE(find_gpu(ask, at(0x2000)).has_value());
  CHECK_FALSE(find_gpu(ask, at(0x10)).has_value());
}

TEST_CASE("a driver that fails names no GPU") {
  const PointerQuestion fails = [](unsigned count, int* attributes, void** into,
                                   unsigned long long address) {
    ask(count, attributes, into, address);
    return 3;
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
