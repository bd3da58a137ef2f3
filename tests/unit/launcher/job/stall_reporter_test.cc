#include "launcher/job/stall_reporter.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>

namespace dt {
namespace {

/// A rendezvous that only counts the queries.
class QuietRendezvous final : public RendezvousServer {
 public:
  const Address& address() const override { return address_; }
  void adopt(Fd /*connection*/, std::string /*from*/) override {}
  void notify(const Notice& /*notice*/) override {}
  void pause() override {}
  void resume() override {}
  void set_table(TaskTable /*table*/) override {}
  void set_horovod_sources(AddressSet /*sources*/) override {}
  void on_wait_report(WaitReportHandler handler) override { report = std::move(handler); }
  void query_waits() override { ++queries; }
  int64_t pid_of(const TaskId& task) const override { return 100 + task.index; }
  const Bytes* find(const std::string& /*key*/) const override { return nullptr; }
  Counters counters() const override { return {}; }

  WaitReportHandler report;
  int queries = 0;

 private:
  Address address_;
};

Plan two_workers() {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 1}, {.name = "b", .slots = 1}};
  return make_plan(request).value();
}

struct Fixture {
  /// Runs the loop until `done` holds; fails the test after 10 s.
  template <class Done>
  void until(Done done) const {
    for (const Time end = Clock::now() + seconds(10); !done();)
      REQUIRE((loop->run_once(end) && Clock::now() < end));
  }
  void rank_0_waits() {
    rendezvous.report(
        {"worker", 0},
        {{{.operation = "barrier #1", .waited = seconds(30), .awaited = {1, 9, -1, 1}}}});
  }

  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string logged;
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  QuietRendezvous rendezvous;
  Plan plan = two_workers();
  Supervisor supervisor{plan, {}, Time()};
  JobRecord record;
  std::map<size_t, StatesWanted> asked;
  StallReporter reporter{
      {*loop, [this](size_t agent, const StatesWanted& wanted) { asked[agent] = wanted; },
       rendezvous, log, record, supervisor, plan},
      seconds(30)};
};

TEST_CASE_FIXTURE(Fixture, "StallReporter asks ranks and agents, logs a stall and records it") {
  rank_0_waits();
  CHECK(rendezvous.queries == 0);
  until([&] { return !asked.empty(); });
  CHECK(rendezvous.queries == 1);
  REQUIRE(asked.size() == 1);
  CHECK(asked[1] == StatesWanted{{{{"worker", 1}, 101}}});
  CHECK(logged.empty());
  reporter.states({{{{"worker", 1}, {101, 'T', ""}}}});
  CHECK(logged.starts_with("dtrain: warning: barrier #1 stalls for 3"));
  CHECK(logged.find(": rank 0 waits for rank 1\n") != std::string::npos);
  REQUIRE(record.stalls.size() == 1);
  CHECK(record.stalls[0].waiting == std::vector<StallRecord::Waiter>{{0, {1}}});
  CHECK(!record.stalls[0].ended);
  logged.clear();
  rendezvous.report({"worker", 0}, {});
  CHECK(logged.starts_with("dtrain: warning: barrier #1 stalls no more, after 3"));
  CHECK(record.stalls[0].ended);
}

TEST_CASE_FIXTURE(Fixture, "StallReporter does not log the end of a stall that a failure ends") {
  rank_0_waits();
  until([&] { return !asked.empty(); });
  reporter.states({{{{"worker", 1}, {101, 'T', ""}}}});
  logged.clear();
  supervisor.started(1, 7, Time());
  supervisor.exited(1, {.code = 3}, Time());
  reporter.task_ended(1);
  reporter.task_ended(0);
  CHECK(logged.empty());
  CHECK(record.stalls.at(0).ended);
}

TEST_CASE_FIXTURE(Fixture, "StallReporter ignores tasks without rank") {
  rendezvous.report({"ps", 0}, {{{.operation = "barrier #1", .waited = seconds(30)}}});
  CHECK(rendezvous.queries == 0);
  rank_0_waits();
  until([&] { return !asked.empty(); });
  reporter.states({{{{"ps", 0}, {7, 'S', ""}}}});
  CHECK(logged.empty());
  reporter.states({{{{"worker", 1}, {101, 'T', ""}}}});
  CHECK(logged.find(": rank 0 waits for rank 1\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "StallReporter listens to no rank when reports are off") {
  QuietRendezvous other;
  const StallReporter off({*loop, {}, other, log, record, supervisor, plan}, Duration::zero());
  CHECK(!other.report);
}

}  // namespace
}  // namespace dt
