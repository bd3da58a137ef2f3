#include "comm/memory/program_memory.h"

#include "tests/unit/comm/memory/heap_file.h"

#include <doctest/doctest.h>

#include <cstring>

namespace dt {
namespace {

TEST_CASE("memory is in the host's heap where there is one") {
  const HeapFile file(1);
  const auto heap = file.of(0);
  ProgramMemory memory(heap);
  void* const buffer = memory.allocate(100).value();
  CHECK(heap->place_of(buffer, 100));
  CHECK(memory.free(buffer));
  CHECK(file.backed() == 0);
  CHECK(memory.allocate(HeapFile::part_bytes_default * 2).error().code == Errc::os);
}

TEST_CASE("without a heap, memory is ordinary, zeroed and page-aligned") {
  ProgramMemory memory(nullptr);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{5} << 20}) {
    auto* const buffer = static_cast<char*>(memory.allocate(bytes).value());
    CHECK(reinterpret_cast<uintptr_t>(buffer) % 4096 == 0);
    if (bytes > 0) CHECK(buffer[bytes - 1] == 0);
    std::memset(buffer, 1, bytes);
    CHECK(memory.free(buffer));
  }
  const auto refused = memory.allocate(SIZE_MAX);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::os);
}

TEST_CASE("where the heap cannot be mapped, memory is ordinary") {
  // More addresses than a process has.
  const SharedHeap::File file = {.fd = -1, .begin = 0, .part_bytes = size_t{1} << 47, .parts = 2};
  const auto heap = std::make_shared<SharedHeap>(nullptr, file, 0);
  ProgramMemory memory(heap);
  void* const buffer = memory.allocate(100).value();
  CHECK(!heap->readable());
  CHECK(memory.free(buffer));
}

TEST_CASE("only memory that was allocated and not freed yet can be freed") {
  const HeapFile file(1);
  for (const auto& heap : {file.of(0), std::shared_ptr<SharedHeap>()}) {
    ProgramMemory memory(heap);
    auto* const buffer = static_cast<std::byte*>(memory.allocate(100).value());
    CHECK(memory.free(buffer + 1).error().code == Errc::input);
    CHECK(memory.free(&memory).error().code == Errc::input);
    CHECK(memory.free(buffer));
    CHECK(memory.free(buffer).error().code == Errc::input);
  }
}

}  // namespace
}  // namespace dt
