#include "comm/collective/hierarchical_communicator.h"

#include "comm/group/group_communicators.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace dt {
namespace {

using Floats = std::vector<float>;
using Works = std::vector<std::shared_ptr<Operation>>;

OperationRequest all_reduce(Floats& values, Duration timeout = Duration::zero()) {
  return {.kind = OperationKind::all_reduce,
          .count = values.size(),
          .input = values.data(),
          .output = values.data(),
          .timeout = timeout};
}

/// Two hosts of two ranks, and a call of each.
struct TwoHosts {
  explicit TwoHosts(size_t count) : values(4, Floats(count)) { fill(); }
  void fill() {
    for (size_t rank = 0; rank < 4; ++rank)
      std::iota(values[rank].begin(), values[rank].end(), static_cast<float>(rank));
  }
  void call(int rank, Duration timeout = Duration::zero()) {
    works[static_cast<size_t>(rank)] =
        group.submit(rank, all_reduce(values[static_cast<size_t>(rank)], timeout));
  }
  void call_all() {
    for (int rank = 0; rank < 4; ++rank)
      call(rank);
  }
  /// The bytes that lie in the pipes from one host to the other.
  size_t bytes_abroad() {
    size_t bytes = 0;
    for (const int from : {0, 1})
      for (const int to : {2, 3})
        bytes += group.pipe(from, to).bytes.size() + group.pipe(to, from).bytes.size();
    return bytes;
  }

  EngineGroup group{std::vector{2, 2}};
  std::vector<Floats> values;
  Works works = Works(4);
};

TEST_CASE("each host's ranks meet in memory, so a small call has one message each way") {
  TwoHosts hosts(8);
  hosts.call_all();
  for (int rank = 0; rank < 4; ++rank)
    hosts.group[rank].step(hosts.group.now);
  // Rank 0 has seen the call of rank 1 only in its second step.
  hosts.group[0].step(hosts.group.now);
  hosts.group[2].step(hosts.group.now);
  CHECK(hosts.group.pipe(0, 1).bytes.empty());
  CHECK(hosts.group.pipe(1, 3).bytes.empty());
  CHECK(hosts.group.pipe(1, 2).bytes.empty());
  CHECK(!hosts.group.pipe(0, 2).bytes.empty());
  hosts.group.settle();
  for (size_t rank = 0; rank < 4; ++rank) {
    CHECK(succeeded(hosts.works[rank]));
    CHECK(hosts.values[rank] == Floats{6, 10, 14, 18, 22, 26, 30, 34});
  }
}

TEST_CASE("no large data leaves a host before all its ranks have made the call") {
  TwoHosts hosts(50'000);
  for (const int rank : {0, 2, 3})
    hosts.call(rank);
  hosts.group.settle();
  CHECK(hosts.bytes_abroad() < 1000);
  hosts.call(1);
  hosts.group.settle();
  for (const auto& work : hosts.works)
    CHECK(succeeded(work));
}

TEST_CASE("a mismatch in a host or between hosts is found, and the next call of all succeeds") {
  for (const size_t usual : {size_t{1}, size_t{3'000}, size_t{50'000}}) {
    for (const size_t other : {size_t{2}, size_t{60'000}}) {
      for (const std::vector<int>& odd : {std::vector{0}, {1}, {2}, {3}, {2, 3}}) {
        CAPTURE(usual);
        CAPTURE(other);
        CAPTURE(odd.front());
        TwoHosts hosts(usual);
        for (const int rank : odd)
          hosts.values[static_cast<size_t>(rank)].resize(other);
        hosts.call_all();
        hosts.group.settle();
        hosts.group.pass(milliseconds(100));
        for (const auto& work : hosts.works) {
          CHECK(failure_code(work) == Errc::mismatch);
          CHECK(failure(work) == failure(hosts.works[0]));
        }
        for (const size_t next : {usual, other}) {
          hosts.values.assign(4, Floats(next));
          hosts.fill();
          hosts.call_all();
          hosts.group.settle();
          for (size_t rank = 0; rank < 4; ++rank) {
            CHECK(failure(hosts.works[rank]) == "ok");
            CHECK(hosts.values[rank].back() == 6 + 4 * static_cast<float>(next - 1));
          }
        }
      }
    }
  }
}

TEST_CASE("a time limit names the ranks of any host that have not made the call") {
  for (const int late : {1, 3}) {
    CAPTURE(late);
    TwoHosts hosts(10);
    for (int rank = 0; rank < 4; ++rank)
      if (rank != late) hosts.call(rank, seconds(1));
    hosts.group.settle();
    hosts.group.pass(seconds(2));
    const std::string text =
        format("all_reduce #1: timed out after 1s: rank {0} (host n{0}) has not arrived", late);
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == late) continue;
      CHECK(failure(hosts.works[static_cast<size_t>(rank)]) == text);
      CHECK(hosts.works[static_cast<size_t>(rank)]->blamed_rank == late);
    }
  }
}

TEST_CASE(
    "a rank that leaves while its host waits for it ends the call everywhere, with its name") {
  TwoHosts hosts(10);
  for (const int rank : {0, 2, 3})
    hosts.call(rank);
  hosts.group.settle();
  hosts.group.end(1);
  for (const int rank : {0, 2, 3})
    hosts.group.notify(rank, Notice::Kind::left, 1);
  hosts.group.pass(seconds(1));
  for (const int rank : {0, 2, 3}) {
    CHECK(failure(hosts.works[static_cast<size_t>(rank)]) ==
          "all_reduce #1: rank 1 (host n1) has left the job");
    CHECK(hosts.works[static_cast<size_t>(rank)]->blamed_rank == 1);
  }
}

TEST_CASE("after a death in each phase, no buffer of the others is touched any more") {
  for (int steps = 0; steps < 40; ++steps) {
    TwoHosts hosts(60'000);
    hosts.call_all();
    for (int step = 0; step < steps; ++step)
      hosts.group[step % 4].step(hosts.group.now);
    hosts.group.end(3);
    for (const int rank : {0, 1, 2})
      hosts.group.notify(rank, Notice::Kind::dead, 3, "killed by SIGKILL");
    for (const int rank : {0, 1, 2}) {
      const auto at = static_cast<size_t>(rank);
      if (!succeeded(hosts.works[at])) {
        CHECK(failure(hosts.works[at]) ==
              "all_reduce #1: rank 3 (host n3) died: killed by SIGKILL");
      }
      // A use after this would show under a sanitizer.
      Floats().swap(hosts.values[at]);
    }
    hosts.group.settle();
  }
}

TEST_CASE("a rank waits for its host first, and then for the rank of another host") {
  TwoHosts hosts(10);
  hosts.call(0);
  hosts.group.settle();
  CHECK(hosts.group[0].awaited(*hosts.works[0]) == std::vector{1});
  hosts.call(1);
  hosts.group.settle();
  CHECK(hosts.group[0].awaited(*hosts.works[0]) == std::vector{2});
  CHECK(hosts.group[1].awaited(*hosts.works[1]) == std::vector{0});
}

TEST_CASE("a rank that is alone on its host takes part without memory") {
  EngineGroup group(std::vector{1, 2});
  std::vector<Floats> values = {{1, 2}, {10, 20}, {100, 200}};
  Works works;
  for (int rank = 0; rank < 3; ++rank)
    works.push_back(group.submit(rank, all_reduce(values[static_cast<size_t>(rank)])));
  const Works barriers = group.submit_all({.kind = OperationKind::barrier});
  group.settle();
  for (size_t rank = 0; rank < 3; ++rank) {
    CHECK(succeeded(works[rank]));
    CHECK(succeeded(barriers[rank]));
    CHECK(values[rank] == Floats{111, 222});
  }
}

}  // namespace
}  // namespace dt
