#include "comm/transport/shm_segment.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
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

TEST_CASE("a segment is refused unless its size is right and sealed") {
  const auto segment = ShmSegment::create(2).value();
  CHECK(ftruncate(segment->fd(), 1) < 0);
  CHECK(ShmSegment::open(duplicate(segment->fd()).value(), 2).has_value());
  CHECK(ShmSegment::open(duplicate(segment->fd()).value(), 3).error().code == Errc::protocol);
  Fd unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(unsealed.get(), 4096) == 0);
  CHECK(ShmSegment::open(std::move(unsealed), 2).error().code == Errc::protocol);
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
