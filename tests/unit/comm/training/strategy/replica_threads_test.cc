#include "comm/training/strategy/replica_threads.h"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <thread>

namespace dt {
namespace {

TEST_CASE("each call has a thread of its own, the first one the caller's, in every round") {
  const auto threads = ReplicaThreads::start(3).value();
  for (int round = 0; round < 50; ++round) {
    std::array<std::thread::id, 3> ids;
    threads->run([&](size_t i) { ids[i] = std::this_thread::get_id(); });
    CHECK(ids[0] == std::this_thread::get_id());
    CHECK(std::set<std::thread::id>(ids.begin(), ids.end()).size() == 3);
  }
}

TEST_CASE("one replica needs no other thread, and threads that never run end") {
  int calls = 0;
  ReplicaThreads::start(1).value()->run([&](size_t) { ++calls; });
  CHECK(calls == 1);
  CHECK(ReplicaThreads::start(4).has_value());
}

}  // namespace
}  // namespace dt
