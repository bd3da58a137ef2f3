#include "gpu/cpu/cpu_memory.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("each device has its own limit of memory, and pinned memory has none") {
  CpuMemory memory(2, 1000);
  const auto first = memory.allocate({.device = 0, .bytes = 600}).value();
  CHECK(memory.of_device(0) == DeviceMemory{.total_bytes = 1000, .free_bytes = 400});
  CHECK(memory.of_device(1) == DeviceMemory{.total_bytes = 1000, .free_bytes = 1000});
  const auto second = memory.allocate({.device = 0, .bytes = 401});
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error() ==
        Error{Errc::out_of_memory, "cannot allocate 401 bytes: 400 of 1000 bytes are free"});
  CHECK(memory.allocate({.device = 1, .bytes = 1000}).has_value());
  CHECK(memory.allocate({.device = 0, .pinned = true, .bytes = 5000}).has_value());
  CHECK_FALSE(memory.free(first).has_value());
  CHECK(memory.of_device(0).free_bytes == 1000);
  CHECK(memory.allocate({.device = 0, .bytes = 1000}).has_value());
}

TEST_CASE("an address belongs to the memory around it, and to no other memory of the process") {
  CpuMemory memory(1, 1 << 20);
  const auto first = memory.allocate({.bytes = 100}).value();
  const auto second = memory.allocate({.bytes = 100}).value();
  for (const auto& allocation : {first, second}) {
    CHECK(memory.find(allocation->at()) == allocation);
    CHECK(memory.find(allocation->at() + 99) == allocation);
    CHECK(memory.find(allocation->at() + 100) == allocation);
    CHECK(memory.find(allocation->at() - 1) == allocation);
  }
  const std::byte other{};
  CHECK(memory.find(&other) == nullptr);
  CHECK(memory.find(nullptr) == nullptr);
}

TEST_CASE("freed memory is known for some time, and its bytes are bounded") {
  CpuMemory memory(1, size_t{1} << 30);
  const auto small = memory.allocate({.bytes = 8}).value();
  memory.free(small);
  CHECK(memory.find(small->at()) == small);
  CHECK(small->freed());
  memory.free(memory.allocate({.bytes = size_t{17} << 20}).value());
  CHECK(memory.find(small->at()) == nullptr);
  const auto first_of_many = memory.allocate({.bytes = 1}).value();
  memory.free(first_of_many);
  for (int i = 0; i < 64; ++i)
    memory.free(memory.allocate({.bytes = 1}).value());
  CHECK(memory.find(first_of_many->at()) == nullptr);
}

TEST_CASE("an overrun is found while memory lives, by device, and when it is freed") {
  CpuMemory memory(2, 1000);
  const auto allocation = memory.allocate({.device = 1, .bytes = 10}).value();
  allocation->at()[10] = std::byte{1};
  const char* const sentence =
      "a buffer of 10 bytes was overrun: 0 bytes before it and 1 after it have changed";
  CHECK_FALSE(memory.find_overrun(0).has_value());
  CHECK(memory.find_overrun(1) == sentence);
  CHECK(memory.free(allocation) == sentence);
  CHECK_FALSE(memory.find_overrun(1).has_value());
}

}  // namespace
}  // namespace dt
