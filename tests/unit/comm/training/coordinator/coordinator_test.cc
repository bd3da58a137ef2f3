#include "comm/training/coordinator/coordinator.h"

#include "comm/training/coordinator/closure_worker.h"
#include "tests/unit/comm/training/coordinator/coordinator_job.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <latch>
#include <thread>

namespace dt {
namespace {

/// A coordinator, and workers on threads.
class Job {
 public:
  explicit Job(int workers, size_t workers_min = 1) : rendezvous_(table_with_chief(workers)) {
    Coordinator::Options options;
    options.rendezvous = view({"chief", 0});
    options.claim = rendezvous_.claim({"chief", 0});
    options.schedule.workers_min = workers_min;
    coordinator_ = must(Coordinator::start(std::move(options), soon()));
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { end(); }

  Coordinator& coordinator() { return *coordinator_; }
  RendezvousFixture& rendezvous() { return rendezvous_; }
  std::unique_ptr<RendezvousView> view(const TaskId& task) const {
    return std::make_unique<ClientRendezvousView>(rendezvous_.join(task));
  }
  using Closures = std::map<std::string, ClosureWorker::Function, std::less<>>;
  /// Serves as this worker on a thread.
  void serve(int index, Closures closures) {
    auto served = std::async(std::launch::async, [this, index, closures = std::move(closures)] {
      const TaskId self{"worker", index};
      ClosureWorker worker(
          {.rendezvous = view(self), .claim = rendezvous_.claim(self), .closures = closures});
      const Result<> done = worker.serve(soon());
      return done ? std::string() : done.error().message;
    });
    served_.push_back(std::move(served));
  }
  /// Ends the coordinator.
  void end() { coordinator_.reset(); }
  /// Returns the error with which the worker's service ended; empty: it ended well.
  std::string outcome(size_t thread) { return served_.at(thread).get(); }

 private:
  RendezvousFixture rendezvous_;
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::future<std::string>> served_;
};

ClosureOutcome echo(ByteSpan argument) {
  return {.result = {argument.begin(), argument.end()}};
}

TEST_CASE("closures run on the workers, and their results come back") {
  Job job(3);
  std::latch all(3);
  const auto meet = [&all](ByteSpan /*argument*/) {
    all.arrive_and_wait();
    return ClosureOutcome();
  };
  for (int worker = 0; worker < 3; ++worker)
    job.serve(worker, {{"echo", echo}, {"meet", meet}});
  // A worker runs one closure at a time, so all three are connected then.
  for (int i = 0; i < 3; ++i)
    must(job.coordinator().schedule("meet", {}, false));
  std::vector<uint64_t> closures;
  for (int i = 0; i < 50; ++i)
    closures.push_back(must(job.coordinator().schedule("echo", to_bytes(std::to_string(i)), true)));
  for (size_t i = 0; i < closures.size(); ++i) {
    const Bytes result = must(job.coordinator().fetch(closures[i], soon()));
    CHECK(as_text(result) == std::to_string(i));
  }
  CHECK(job.coordinator().join(soon()).has_value());
  CHECK(job.coordinator().done());
  CHECK(job.coordinator().fetch(closures[0], soon()).error().message ==
        "there is no closure 4, or it has been fetched");
  job.end();
  for (size_t worker = 0; worker < 3; ++worker)
    CHECK(job.outcome(worker).empty());
}

TEST_CASE("large arguments and results arrive whole") {
  Job job(1);
  job.serve(0, {{"echo", echo}});
  Bytes large(10'000'000);
  for (size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<std::byte>(i * 7);
  const uint64_t closure = must(job.coordinator().schedule("echo", large, true));
  CHECK(must(job.coordinator().fetch(closure, soon())) == large);
}

TEST_CASE("errors of closures, and unknown names, reach the coordinator by name") {
  Job job(1);
  job.serve(
      0,
      {{"fails", [](ByteSpan) { return ClosureOutcome{.error = Error{Errc::os, "disk full"}}; }},
       {"long", [](ByteSpan) { return ClosureOutcome{.result = Bytes(closure_bytes_max + 1)}; }}});
  struct Case {
    const char* name;
    Error error;
  };
  const std::vector<Case> cases = {
      {"fails", {Errc::os, "closure \"fails\", on worker:0 on node1: disk full", 1}},
      {"long",
       {Errc::refused,
        "closure \"long\", on worker:0 on node1: its result has 67108865 bytes, at "
        "most 67108864 are possible",
        1}},
      {"none",
       {Errc::input,
        "closure \"none\", on worker:0 on node1: this worker has no closure of that "
        "name; it has fails, long",
        1}}};
  for (const Case& which : cases) {
    static_cast<void>(must(job.coordinator().schedule(which.name, {}, false)));
    const Result<> failed = job.coordinator().join(soon());
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == which.error);
  }
  CHECK(job.coordinator().join(soon()).has_value());
}

TEST_CASE("the closure of a worker that dies runs on another one") {
  Job job(2);
  std::promise<void> begun;
  std::promise<void> go;
  job.serve(0, {{"step", [&](ByteSpan) {
                   begun.set_value();
                   go.get_future().wait();
                   return ClosureOutcome{.result = to_bytes("of the dead")};
                 }}});
  const uint64_t closure = must(job.coordinator().schedule("step", {}, true));
  begun.get_future().wait();
  job.serve(1, {{"step", [](ByteSpan) { return ClosureOutcome{.result = to_bytes("other")}; }}});
  job.rendezvous().notify({Notice::Kind::dead, {"worker", 0}, "killed by SIGKILL"});
  CHECK(as_text(must(job.coordinator().fetch(closure, soon()))) == "other");
  go.set_value();
  // The coordinator has closed this worker's connection.
  CHECK(job.outcome(0).find("the connection to the coordinator chief:0 on node0 is broken") == 0);
}

TEST_CASE("without workers, closures fail by name, and with a time limit they are named") {
  Job job(2);
  const uint64_t closure = must(job.coordinator().schedule("step", {}, true));
  CHECK(
      job.coordinator().join(Clock::now()).error() ==
      Error{Errc::timeout, "closure \"step\", which waits for a worker, has not finished in time"});
  CHECK(job.coordinator().fetch(closure, Clock::now()).error().code == Errc::timeout);
  job.rendezvous().notify({Notice::Kind::dead, {"worker", 0}, "killed by SIGKILL"});
  job.rendezvous().notify({Notice::Kind::dead, {"worker", 1}, "exit status 3"});
  const Result<> failed = job.coordinator().join(soon());
  REQUIRE_FALSE(failed);
  CHECK(failed.error() == Error{Errc::peer_lost,
                                "closure \"step\": the coordinator needs 1 workers, and 0 are "
                                "left: worker:0 on node1 died: killed by SIGKILL, worker:1 on "
                                "node2 died: exit status 3",
                                2});
  CHECK(job.coordinator().fetch(closure, soon()).error() == failed.error());
}

TEST_CASE("a worker's service ends when the coordinator dies or leaves") {
  Job job(2);
  job.serve(0, {});
  job.serve(1, {{"echo", echo}});
  // At least one is connected by now.
  for (int left = 2; left > 0; --left)
    static_cast<void>(must(job.coordinator().schedule("echo", {}, false)));
  static_cast<void>(job.coordinator().join(soon()));  // the first worker has no such closure
  SUBCASE("it dies") {
    job.rendezvous().notify({Notice::Kind::dead, {"chief", 0}, "killed by SIGKILL"});
    for (size_t worker = 0; worker < 2; ++worker)
      CHECK(job.outcome(worker) == "the coordinator chief:0 on node0 died: killed by SIGKILL");
  }
  SUBCASE("it leaves") {
    job.rendezvous().notify({Notice::Kind::left, {"chief", 0}, ""});
    for (size_t worker = 0; worker < 2; ++worker)
      CHECK(job.outcome(worker).empty());
  }
}

TEST_CASE("a worker does not wait for a coordinator that has left or died before it started") {
  RendezvousFixture rendezvous(table_with_chief(1));
  const auto serve = [&](const std::string& role, Time deadline) {
    const TaskId self{"worker", 0};
    ClosureWorker worker(
        {.rendezvous = std::make_unique<ClientRendezvousView>(rendezvous.join(self)),
         .claim = rendezvous.claim(self),
         .coordinator = role});
    const Result<> served = worker.serve(deadline);
    return served ? std::string() : served.error().message;
  };
  CHECK(serve("chief", Clock::now()) == "chief:0 on node0 has not started a coordinator in time");
  CHECK(serve("master", soon()) ==
        "the job has no task of role master, which would coordinate; start it by --role master=1");
  SUBCASE("left") {
    rendezvous.notify({Notice::Kind::left, {"chief", 0}, ""});
    CHECK(serve("chief", soon()).empty());
  }
  SUBCASE("died") {
    rendezvous.notify({Notice::Kind::dead, {"chief", 0}, "exit status 1"});
    CHECK(serve("chief", soon()) == "the coordinator chief:0 on node0 died: exit status 1");
  }
}

TEST_CASE("a coordinator needs workers, and is none of them") {
  RendezvousFixture rendezvous(table_with_chief(1));
  const auto start = [&](const TaskId& self, const std::string& workers, size_t workers_min) {
    Coordinator::Options options;
    options.rendezvous = std::make_unique<ClientRendezvousView>(rendezvous.join(self));
    options.claim = rendezvous.claim(self);
    options.workers = workers;
    options.schedule.workers_min = workers_min;
    const auto started = Coordinator::start(std::move(options), soon());
    return started ? std::string() : started.error().message;
  };
  CHECK(start({"chief", 0}, "helper", 1) ==
        "a coordinator of at least 1 workers: the job has 0 tasks of role helper; start them by "
        "--role helper=1");
  CHECK(start({"chief", 0}, "worker", 2).find("the job has 1 tasks of role worker") !=
        std::string::npos);
  CHECK(start({"worker", 0}, "worker", 1) ==
        "worker:0 is a worker of the coordinator that it starts; another role, such as chief, must "
        "start it");
}

}  // namespace
}  // namespace dt
