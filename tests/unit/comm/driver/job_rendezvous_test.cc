#include "comm/driver/job_rendezvous.h"

#include "comm/driver/driver.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

/// The reports of the ranks, as the launcher gets them.
class Reports {
 public:
  explicit Reports(World& world) : world_(world) {
    world.server().on_server([this](RendezvousServer& server) {
      server.on_wait_report(
          [this](const TaskId& task, const WaitReport& report) { add(task.index, report); });
    });
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  /// The server's thread lives longer.
  ~Reports() {
    world_.server().on_server([](RendezvousServer& server) { server.on_wait_report({}); });
  }
  /// Waits for a report of this rank for which `wanted` holds, and returns the first one. Fails the
  /// test after 20 s.
  template <class Wanted>
  WaitReport await(int rank, Wanted wanted) {
    std::unique_lock lock(mutex_);
    WaitReport found;
    const bool came = changed_.wait_for(lock, seconds(20), [&] {
      const auto report = std::ranges::find_if(reports_[rank], wanted);
      if (report != reports_[rank].end()) found = *report;
      return report != reports_[rank].end();
    });
    CHECK(came);
    return found;
  }
  /// The report of this wait. On a busy machine, the operations before it may be reported too.
  WaitReport await_wait(int rank, const std::string& operation) {
    return await(rank, [&](const WaitReport& report) { return waits_in(report, operation); });
  }
  WaitReport await_end(int rank) {
    return await(rank, [](const WaitReport& report) { return report.waits.empty(); });
  }
  /// True when this rank has reported this wait.
  bool any(int rank, const std::string& operation) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        reports_[rank], [&](const WaitReport& report) { return waits_in(report, operation); });
  }
  bool none() {
    const std::lock_guard lock(mutex_);
    return reports_.empty();
  }

 private:
  static bool waits_in(const WaitReport& report, const std::string& operation) {
    return !report.waits.empty() && report.waits[0].operation == operation;
  }
  void add(int rank, const WaitReport& report) {
    const std::lock_guard lock(mutex_);
    reports_[rank].push_back(report);
    changed_.notify_all();
  }

  World& world_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, std::vector<WaitReport>> reports_;  ///< of each rank, in the order they came
};

TEST_CASE("a rank that sleeps in a call reports its long wait, and then its end") {
  for (const int per_host : {1, 2}) {
    World world({.size = 2, .per_host = per_host, .stall_after = std::chrono::milliseconds(50)});
    Reports reports(world);
    check_all_well(world.run([&](Context& context) {
      context.barrier();
      if (context.rank() == 1) {
        const WaitReport report = reports.await_wait(0, "barrier \"late\"");
        CHECK(report.waits.at(0).awaited == std::vector<int32_t>{1});
        CHECK(report.waits.at(0).last_before == "barrier #1");
        CHECK(report.waits.at(0).waited >= std::chrono::milliseconds(50));
      }
      context.barrier({.name = "late"});
      if (context.rank() == 1) reports.await_end(0);
      context.barrier();
    }));
  }
}

TEST_CASE("an asynchronous operation that no thread waits for is reported as well") {
  World world({.size = 2, .per_host = 2, .stall_after = std::chrono::milliseconds(50)});
  Reports reports(world);
  check_all_well(world.run([&](Context& context) {
    std::vector<float> values(4);
    if (context.rank() == 1) {
      reports.await_wait(0, "all_reduce #1");
      context.all_reduce(values);
      reports.await_end(0);
      context.barrier();
    } else {
      const dtrain::Work work = context.all_reduce_async(values);
      reports.await_wait(0, "all_reduce #1");
      reports.await_end(0);
      CHECK(work.done());
      context.barrier();
    }
  }));
}

TEST_CASE("a rank in a call answers a query, one in no call does not") {
  World world({.size = 3, .per_host = 3, .stall_after = std::chrono::hours(1)});
  Reports reports(world);
  check_all_well(world.run([&](Context& context) {
    context.barrier();
    std::vector<int> message(1);
    if (context.rank() == 0) context.recv(message, 1, {.name = "m"});
    if (context.rank() == 1) {
      const std::string receive = "receive from rank 1 \"m\"";
      // A query that comes while rank 0 is still in the barrier may be answered there.
      for (const Time end = Clock::now() + seconds(20);
           !reports.any(0, receive) && Clock::now() < end;) {
        world.server().on_server([](RendezvousServer& server) { server.query_waits(); });
        std::this_thread::yield();
      }
      const WaitReport report = reports.await_wait(0, receive);
      CHECK(report.waits.at(0).awaited == std::vector<int32_t>{1});
      context.send(message, 0, {.name = "m"});
      reports.await_end(0);
    }
  }));
}

TEST_CASE("without a time, ranks report nothing") {
  World world({.size = 2, .per_host = 2});
  Reports reports(world);
  check_all_well(world.run([&](Context& context) {
    for (int i = 0; context.rank() == 1 && i < 100; ++i)
      world.server().on_server([](RendezvousServer& server) { server.query_waits(); });
    context.barrier();
  }));
  CHECK(reports.none());
}

}  // namespace
}  // namespace dt
