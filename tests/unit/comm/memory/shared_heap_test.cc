#include "comm/memory/shared_heap.h"

#include "tests/unit/comm/memory/heap_file.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

constexpr size_t page = RangeList::page_bytes;
constexpr size_t mib = size_t{1} << 20;

std::byte* allocate(SharedHeap& heap, size_t bytes) {
  const auto memory = heap.allocate(bytes);
  REQUIRE_MESSAGE(memory, memory.error().message);
  return static_cast<std::byte*>(*memory);
}

bool all_zero(const std::byte* begin, size_t bytes) {
  return std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST_CASE("what a task writes into its memory, the others read at the same place") {
  const HeapFile file(3);
  const auto first = file.of(0);
  const auto second = file.of(1);
  CHECK(!first->readable());
  std::byte* own = allocate(*first, 5000);
  std::byte* other = allocate(*second, 3 * mib);
  CHECK(first->readable());
  CHECK(reinterpret_cast<uintptr_t>(own) % page == 0);
  CHECK(all_zero(own, 5000));
  own[4999] = std::byte{7};
  other[mib] = std::byte{9};
  const uint64_t place = first->place_of(own + 4999, 1).value();
  CHECK(*second->at(place, 1) == std::byte{7});
  CHECK(*first->at(second->place_of(other + mib, 1).value(), 1) == std::byte{9});
  // Written after it was mapped and read:
  own[4999] = std::byte{8};
  CHECK(*second->at(place, 1) == std::byte{8});
}

TEST_CASE("only bytes that lie in the task's own part have a place") {
  const HeapFile file(2);
  const auto heap = file.of(1);
  std::vector<std::byte> elsewhere(10);
  CHECK(!heap->place_of(elsewhere.data(), 1));
  std::byte* own = allocate(*heap, page);
  CHECK(heap->place_of(own, HeapFile::part_bytes_default) == HeapFile::part_bytes_default);
  CHECK(!heap->place_of(own, HeapFile::part_bytes_default + 1));
  CHECK(!heap->place_of(own + 1, HeapFile::part_bytes_default));
  CHECK(!heap->place_of(own - 1, 2));
  CHECK(!heap->place_of(elsewhere.data(), 1));
  CHECK(!heap->place_of(nullptr, 0));
  CHECK(!heap->place_of(own, SIZE_MAX));
  const uint64_t end = 2 * HeapFile::part_bytes_default;
  CHECK(heap->at(end - 1, 1) != nullptr);
  CHECK(heap->at(end, 1) == nullptr);
  CHECK(heap->at(end - 1, 2) == nullptr);
  CHECK(heap->at(UINT64_MAX, SIZE_MAX) == nullptr);
}

TEST_CASE("freed memory goes back to the kernel, and is zero when it is allocated again") {
  const HeapFile file(2);
  const auto heap = file.of(0);
  const auto reader = file.of(1);
  allocate(*reader, 1);
  const size_t before = file.backed();
  std::byte* memory = allocate(*heap, 8 * mib);
  CHECK(file.backed() >= before + 8 * mib);
  const uint64_t place = heap->place_of(memory, 1).value();
  std::memset(memory, 1, 8 * mib);
  CHECK(*reader->at(place, 1) == std::byte{1});
  CHECK(heap->free(memory));
  CHECK(file.backed() == before);
  CHECK(!heap->free(memory));
  CHECK(!heap->free(memory + 1));
  std::byte* again = allocate(*heap, 8 * mib);
  CHECK(again == memory);
  CHECK(all_zero(again, 8 * mib));
  // The reader's old mapping shows the new memory.
  again[0] = std::byte{2};
  CHECK(*reader->at(place, 1) == std::byte{2});
}

TEST_CASE("a heap that ends frees what is allocated") {
  const HeapFile file(1);
  {
    const auto heap = file.of(0);
    allocate(*heap, 3 * mib);
    allocate(*heap, 10);
    CHECK(file.backed() > 3 * mib);
  }
  CHECK(file.backed() == 0);
}

TEST_CASE("an allocation beyond the part, or the host's memory, is an error with both numbers") {
  const HeapFile file(1, 4 * mib);
  const auto heap = file.of(0);
  const auto refused = heap->allocate(5 * mib);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::os);
  CHECK(refused.error().message ==
        "cannot allocate 5120 KiB of shared memory: 4096 KiB are available; free memory, or raise "
        "the memory limit of the job");
  CHECK(!heap->allocate(SIZE_MAX));
  allocate(*heap, 4 * mib);
}

TEST_CASE("no more is allocated than the kernel has available") {
  const HeapFile file(1);
  std::optional<uint64_t> available = 2 * mib;
  const auto heap = file.of(0, [&] { return available; });
  const auto refused = heap->allocate(2 * mib + 1);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::os);
  CHECK(refused.error().message.find("allocate 2052 KiB") != std::string::npos);
  CHECK(refused.error().message.find("2048 KiB are available") != std::string::npos);
  CHECK(file.backed() == 0);
  allocate(*heap, 2 * mib);
  available.reset();
  allocate(*heap, 3 * mib);
}

TEST_CASE("memory that the kernel refuses is an error, and leaves nothing allocated") {
  // Allocation ends at the limit of the file, which a seal keeps as it is.
  const HeapFile file(1, 4 * mib);
  file.seal_at(HeapFile::begin + 3 * mib);
  const auto heap = file.of(0);
  const auto refused = heap->allocate(4 * mib);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::os);
  CHECK(file.backed() == 0);
  allocate(*heap, 3 * mib - page);
}

TEST_CASE("a heap is not usable when the process cannot have its addresses") {
  const SharedHeap::File file = {.fd = -1, .begin = 0, .part_bytes = size_t{1} << 47, .parts = 2};
  SharedHeap heap(nullptr, file, 0);
  const auto refused = heap.allocate(10);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::unsupported);
  CHECK(!heap.readable());
}

/// Returns the signal that ends a child in which `body` runs; 0 if the child ends well.
template <class Body>
int signal_of(const Body& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGBUS})
      std::signal(number, SIG_DFL);
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    body();
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_CASE("an access to freed memory, or a write to another task's, ends the program") {
  const HeapFile file(2);
  const auto heap = file.of(0);
  const auto other = file.of(1);
  std::byte* memory = allocate(*heap, page);
  std::byte* others = allocate(*other, page);
  const uint64_t place = other->place_of(others, 1).value();
  CHECK(signal_of([&] { memory[0] = std::byte{1}; }) == 0);
  // The child shares its parent's memory.
  CHECK(memory[0] == std::byte{1});
  CHECK(heap->free(memory));
  CHECK(signal_of([&] { memory[0] = std::byte{1}; }) == SIGSEGV);
  CHECK(signal_of([&] { const_cast<std::byte*>(heap->at(place, 1))[0] = std::byte{1}; }) ==
        SIGSEGV);
}

TEST_CASE("threads allocate and free at the same time") {
  const HeapFile file(1);
  const auto heap = file.of(0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int number = 1; number <= 4; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 100; ++i) {
        const size_t bytes = page * static_cast<size_t>(1 + (i * number) % 7);
        const auto memory = heap->allocate(bytes);
        if (!memory) {
          ++wrong;
          continue;
        }
        auto* const begin = static_cast<std::byte*>(*memory);
        if (!all_zero(begin, bytes)) ++wrong;
        std::memset(begin, number, bytes);
        if (std::count(begin, begin + bytes, static_cast<std::byte>(number)) !=
            static_cast<std::ptrdiff_t>(bytes))
          ++wrong;
        if (!heap->free(begin)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(file.backed() == 0);
}

}  // namespace
}  // namespace dt
