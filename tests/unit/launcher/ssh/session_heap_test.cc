#include "launcher/ssh/session_heap.h"

#include <doctest/doctest.h>

#include <cstring>

namespace dt {
namespace {

TEST_CASE("blocks count until they are released, and no more are given than is allowed") {
  SessionHeap heap(100);
  void* const first = heap.allocate(60);
  REQUIRE(first != nullptr);
  CHECK(heap.allocate(41) == nullptr);
  CHECK(heap.allocate(static_cast<size_t>(-1)) == nullptr);
  void* const second = heap.allocate(40);
  REQUIRE(second != nullptr);
  CHECK(heap.bytes() == 100);
  heap.release(first);
  CHECK(heap.bytes() == 40);
  heap.release(nullptr);
  CHECK(heap.bytes() == 40);
  // The sanitizer checks that the heap's destructor frees the rest.
}

TEST_CASE("a block that is resized keeps its bytes, or stays when there is no room") {
  SessionHeap heap(100);
  void* const small = heap.resize(nullptr, 5);
  std::memcpy(small, "word", 5);
  void* const large = heap.resize(small, 50);
  REQUIRE(large != nullptr);
  CHECK(std::strcmp(static_cast<const char*>(large), "word") == 0);
  CHECK(heap.resize(large, 80) == nullptr);
  CHECK(std::strcmp(static_cast<const char*>(large), "word") == 0);
  CHECK(heap.bytes() == 50);
  CHECK(heap.allocate(0) != nullptr);
}

}  // namespace
}  // namespace dt
