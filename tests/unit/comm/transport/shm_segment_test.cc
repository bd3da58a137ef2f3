#include "comm/transport/shm_segment.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <vector>

namespace dt {
namespace {

TEST_CASE("a segment's rings and flags do not overlap, and are as small as many ranks need") {
  for (const int slots : {2, 3, 16, 64, 128}) {
    CAPTURE(slots);
    const size_t bytes = ShmSegment::ring_bytes(slots);
    CHECK(bytes >= size_t{2} << 10);
    CHECK(bytes <= size_t{256} << 10);
  }
  const auto segment = ShmSegment::create(3).value();
  std::vector<std::byte*> starts;
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from == to) continue;
      starts.push_back(segment->data({from, to}).data());
      CHECK(segment->control({from, to}).written == 0);
    }
  }
  for (size_t i = 1; i < starts.size(); ++i)
    CHECK(starts[i] == starts[i - 1] + ShmSegment::ring_bytes(3));
}

TEST_CASE("128 ranks of a host allocate 64 MiB at most") {
  const auto segment = ShmSegment::create(128).value();
  struct stat status = {};
  REQUIRE(fstat(segment->fd(), &status) == 0);
  CHECK(static_cast<size_t>(status.st_blocks) * 512 <= size_t{64} << 20);
}

TEST_CASE("a segment is refused unless its size is right and sealed") {
  const auto segment = ShmSegment::create(2).value();
  CHECK(ftruncate(segment->fd(), 1) < 0);
  CHECK(ShmSegment::open(duplicate(segment->fd()).value(), 2).has_value());
  CHECK(ShmSegment::open(duplicate(segment->fd()).value(), 3).error().code == Errc::protocol);
  Fd unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(unsealed.get(), 4096) == 0);
  CHECK(ShmSegment::open(std::move(unsealed), 2).error().code == Errc::protocol);
}

TEST_CASE("a segment has a pool for groups, which gets memory only when it is used") {
  const auto segment = ShmSegment::create(3).value();
  const auto opened = ShmSegment::open(duplicate(segment->fd()).value(), 3).value();
  const auto blocks = [&] {
    struct stat status = {};
    REQUIRE(fstat(segment->fd(), &status) == 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  };
  REQUIRE(segment->pool() != nullptr);
  REQUIRE(opened->pool() != nullptr);
  CHECK(segment->tickets().size() == 3);
  opened->tickets()[2].of_part[1] = 5;
  CHECK(segment->tickets()[2].of_part[1] == 5);
  CHECK(segment->tickets()[1].of_part[2] == 0);
  const size_t before = blocks();
  const size_t last = AreaPool::bytes_for(3) - AreaPool::part_bytes(3);
  REQUIRE(segment->back_pool(last, AreaPool::part_bytes(3)));
  const size_t more = blocks() - before;
  CHECK(more >= AreaPool::part_bytes(3));
  CHECK(more <= AreaPool::part_bytes(3) + 2 * 4096);
  segment->pool()[AreaPool::bytes_for(3) - 1] = std::byte{7};
  CHECK(opened->pool()[AreaPool::bytes_for(3) - 1] == std::byte{7});
  CHECK(blocks() == before + more);
  // Neither the heap nor a ring lies there.
  const auto heap = segment->heap_file();
  SharedHeap first(segment, heap, 0);
  CHECK(*static_cast<char*>(first.allocate(1).value()) == 0);
  CHECK(segment->data({2, 1}).back() == std::byte{0});
}

TEST_CASE("each slot has a part of the heap, as large as this host's memory") {
  const auto segment = ShmSegment::create(3).value();
  const auto opened = ShmSegment::open(duplicate(segment->fd()).value(), 3).value();
  const SharedHeap::File file = segment->heap_file();
  struct sysinfo host = {};
  REQUIRE(sysinfo(&host) == 0);
  CHECK(file.part_bytes >= host.totalram * host.mem_unit);
  CHECK(file.parts == 3);
  CHECK(opened->heap_file().part_bytes == file.part_bytes);
  CHECK(opened->heap_file().begin == file.begin);
  // Only addresses: none of it has memory.
  struct stat status = {};
  REQUIRE(fstat(segment->fd(), &status) == 0);
  CHECK(static_cast<uint64_t>(status.st_size) == file.begin + 3 * file.part_bytes);
  CHECK(static_cast<uint64_t>(status.st_blocks) * 512 <= file.begin);
  SharedHeap first(segment, file, 0);
  SharedHeap last(opened, opened->heap_file(), 2);
  REQUIRE(first.allocate(1));
  auto* const memory = static_cast<char*>(last.allocate(10).value());
  memory[9] = 'x';
  const uint64_t offset = last.place_of(memory + 9, 1).value();
  CHECK(*first.at(offset, 1) == static_cast<std::byte>('x'));
}

TEST_CASE(
    "a segment for which memory is short is an error, with what is wanted and what is there") {
  const auto segment = ShmSegment::create(3, [] { return std::nullopt; }).value();
  const SharedHeap::File heap = segment->heap_file();
  struct stat status = {};
  REQUIRE(fstat(segment->fd(), &status) == 0);
  const auto bytes = static_cast<uint64_t>(status.st_blocks) * 512;
  REQUIRE(bytes <= heap.begin);
  CHECK(ShmSegment::create(3, [&] { return bytes; }).has_value());
  const auto refused = ShmSegment::create(3, [&] { return bytes - 1; });
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::os);
  CHECK(refused.error().message ==
        format("cannot allocate {} KiB of shared memory for 3 local ranks: {} KiB are available; "
               "free memory, or raise the memory limit of the job",
               bytes >> 10, (bytes - 1) >> 10));
}

TEST_CASE("a segment has no heap when files may not be so large") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit = {size_t{1} << 30, size_t{1} << 30};
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0) _exit(2);
    const auto segment = ShmSegment::create(2);
    const bool none = segment && (*segment)->heap_file().part_bytes == 0;
    _exit(none && ShmSegment::open(duplicate((*segment)->fd()).value(), 2) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a segment is made although a timer sends signals all the time") {
  struct sigaction before = {};
  struct sigaction ignore = {};
  ignore.sa_handler = [](int) {};
  ignore.sa_flags = SA_RESTART;
  REQUIRE(sigaction(SIGALRM, &ignore, &before) == 0);
  const itimerval often = {.it_interval = {0, 200}, .it_value = {0, 200}};
  REQUIRE(setitimer(ITIMER_REAL, &often, nullptr) == 0);
  // Newer kernels finish the allocation first, older ones break it off.
  const auto segment = ShmSegment::create(16);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  CHECK(segment.has_value());
  CHECK(sigismember(&blocked, SIGALRM) == 0);
}

}  // namespace
}  // namespace dt
