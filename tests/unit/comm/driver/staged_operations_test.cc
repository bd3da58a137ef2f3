#include "comm/driver/staged_operations.h"

#include "comm/collective/operation.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

/// Copies whose progress a test sets.
struct TestCopies final : DeviceCopies {
  struct State {
    Result<bool> input = false;
    Result<> start = {};
    Result<bool> results = false;
    bool others_wait = true;
    bool has_slot = false;
    std::shared_ptr<Operation> before = {};  ///< null: none
    std::shared_ptr<Operation> executed = {};
    std::shared_ptr<Operation> beside = {};  ///< null: `executed` is first
    std::string calls = {};                  ///< "start release finish"
  };
  explicit TestCopies(std::shared_ptr<State> given) : state(std::move(given)) {}
  Result<DeviceStep> next() override {
    ++steps;
    if (steps == 1 && state->before) return DeviceStep::run(state->before, false);
    if (state->beside) return DeviceStep::end_beside(state->beside);
    if (submitted) return DeviceStep::end();
    if (!state->input) return tl::unexpected(state->input.error());
    if (!*state->input) return DeviceStep::wait();
    submitted = true;
    return DeviceStep::run(state->executed, true);
  }
  Result<> start_results() override {
    note("start");
    return state->start;
  }
  Result<bool> results_copied() override { return state->results; }
  bool others_wait() const override { return state->others_wait; }
  bool has_slot() const override { return state->has_slot; }
  void stop(const Error& why) override { note("stop:" + why.message); }
  void release() override { note("release"); }
  void finish() override { note("finish"); }
  void note(const std::string& call) const {
    state->calls += (state->calls.empty() ? "" : " ") + call;
  }

  std::shared_ptr<State> state;
  int steps = 0;
  bool submitted = false;
};

using Work = StagedOperations::Work;

struct Staged {
  /// An operation on memory of a device, whose input is not there yet.
  explicit Staged(const OperationRequest& request) {
    work->request = request;
    inner->request = request;
    state->executed = inner;
    work->staged = std::make_shared<TestCopies>(state);
  }
  std::shared_ptr<TestCopies::State> state = std::make_shared<TestCopies::State>();
  Work work = std::make_shared<Operation>();
  Work inner = std::make_shared<Operation>();
};

struct Queue {
  bool step() {
    auto progress = staged.step([&](const Work& work) { submitted.push_back(work); });
    lost = progress.result;
    return progress.moved;
  }
  StagedOperations staged;
  std::vector<Work> submitted;
  Result<> lost;
};

Work on_host(const OperationRequest& request) {
  auto work = std::make_shared<Operation>();
  work->request = request;
  return work;
}

OperationRequest collective(const std::string& name = "", uint32_t group = 0) {
  return {.kind = OperationKind::all_reduce, .group = group, .name = name};
}

TEST_CASE("the engine gets an operation when its input is there, and the caller its results") {
  Queue queue;
  Staged call(collective());
  CHECK(queue.staged.concerns(*call.work));
  queue.staged.add(call.work);
  CHECK(queue.staged.copies());
  CHECK_FALSE(queue.step());
  CHECK(queue.submitted.empty());
  call.state->input = true;
  CHECK(queue.step());
  CHECK(queue.submitted == std::vector<Work>{call.inner});
  CHECK_FALSE(queue.staged.copies());
  CHECK_FALSE(queue.step());
  call.inner->outcome.emplace();
  CHECK(queue.step());
  CHECK(call.state->calls == "start");
  CHECK_FALSE(call.work->outcome.has_value());
  CHECK(queue.staged.copies());
  CHECK_FALSE(queue.step());
  call.state->results = true;
  CHECK(queue.step());
  CHECK(call.state->calls == "start release");
  REQUIRE(call.work->outcome.has_value());
  CHECK(call.work->outcome->has_value());
  CHECK(queue.staged.empty());
}

TEST_CASE("an operation to execute before is executed in the order, and later ones wait") {
  Queue queue;
  Staged first(collective());
  Staged second(collective());
  first.state->before = on_host(collective());
  second.state->before = on_host(collective());
  second.state->input = true;
  const Work last = on_host(collective());
  queue.staged.add(first.work);
  queue.staged.add(second.work);
  queue.staged.add(last);
  CHECK(queue.step());
  CHECK(queue.submitted == std::vector<Work>{first.state->before});
  CHECK_FALSE(queue.step());
  first.state->before->outcome.emplace();
  CHECK(queue.step());
  CHECK(queue.staged.copies());
  CHECK(queue.staged.concerns(*on_host(collective())));
  first.state->input = true;
  CHECK(queue.step());
  CHECK(queue.submitted ==
        std::vector<Work>{first.state->before, first.inner, second.state->before});
  second.state->before->outcome.emplace();
  CHECK(queue.step());
  CHECK(queue.submitted == std::vector<Work>{first.state->before, first.inner, second.state->before,
                                             second.inner, last});
}

TEST_CASE("a failure of the engine has no results, and blames the same rank") {
  Queue queue;
  Staged call(collective());
  call.state->input = true;
  queue.staged.add(call.work);
  queue.step();
  call.inner->outcome.emplace(fail(Errc::peer_lost, "rank 3 died"));
  call.inner->blamed_rank = 3;
  CHECK(queue.step());
  CHECK(call.state->calls == "release");
  CHECK(call.work->outcome->error().message == "rank 3 died");
  CHECK(call.work->blamed_rank == 3);
  CHECK(queue.lost.has_value());
}

TEST_CASE("a call by name does not block its rank while another one waits for its input") {
  for (const bool another : {false, true}) {
    Queue queue;
    OperationRequest blocking = collective("a");
    blocking.blocks = true;
    Staged call(blocking);
    Staged late(collective(another ? "b" : ""));
    call.state->input = true;
    queue.staged.add(late.work);
    queue.staged.add(call.work);
    queue.step();
    REQUIRE(queue.submitted == std::vector<Work>{call.inner});
    CHECK(call.inner->request.blocks == !another);
  }
}

TEST_CASE("lost work is reported where other ranks wait for it") {
  for (const bool others_wait : {false, true}) {
    Queue queue;
    Staged call(collective());
    call.state->input = true;
    call.state->others_wait = others_wait;
    call.state->results = fail(Errc::os, "NCCL has failed");
    queue.staged.add(call.work);
    queue.step();
    call.inner->outcome.emplace();
    CHECK(queue.step());
    CHECK(call.work->outcome->error().message == "NCCL has failed");
    CHECK(queue.lost.has_value() == !others_wait);
  }
}

TEST_CASE("a failed job stops what waits for other ranks, and the dead rank is blamed") {
  Queue queue;
  Staged waits(collective());
  Staged executed(collective());
  Staged results(collective());
  results.state->input = executed.state->input = true;
  for (const Staged* call : {&results, &executed, &waits})
    queue.staged.add(call->work);
  queue.step();
  results.inner->outcome.emplace();
  queue.step();
  EngineGroup ranks(3);
  queue.staged.stop_lost(ranks[0], ranks.now);
  CHECK(results.state->calls == "start");
  ranks.notify(0, Notice::Kind::dead, 2, "by a signal");
  queue.staged.stop_lost(ranks[0], ranks.now);
  // The engine ends these.
  CHECK(waits.state->calls.empty());
  CHECK(executed.state->calls.empty());
  CHECK(results.state->calls == "start stop:rank 2 (host n2) died: by a signal");
  results.state->results = fail(Errc::peer_lost, "rank 2 died");
  queue.step();
  CHECK(results.work->blamed_rank == 2);
}

TEST_CASE("a rank that leaves a group stops what its members do, but not at once") {
  Queue queue;
  Staged of_group(collective("", 1));
  Staged of_job(collective());
  for (const Staged* call : {&of_group, &of_job}) {
    call->state->input = true;
    call->inner->outcome.emplace();
    queue.staged.add(call->work);
  }
  queue.step();
  EngineGroup ranks(3);
  ranks.create(1, {0, 1});
  ranks[1].leave_group(1);
  ranks.settle();
  queue.staged.stop_lost(ranks[0], ranks.now);
  CHECK(of_group.state->calls == "start");
  queue.staged.stop_lost(ranks[0], ranks.now + seconds(3));
  CHECK(of_group.state->calls == "start stop:rank 1 (host n1) has finalized the group");
  CHECK(of_job.state->calls == "start");
}

TEST_CASE("a failure of the calls by name stops what has a slot") {
  Queue queue;
  Staged with(collective());
  Staged without(collective());
  with.state->has_slot = true;
  for (const Staged* call : {&with, &without}) {
    call->state->input = true;
    call->inner->outcome.emplace();
    queue.staged.add(call->work);
  }
  queue.step();
  EngineGroup ranks(2);
  OperationRequest hurried = collective("late");
  hurried.timeout = seconds(1);
  ranks.submit(0, hurried);
  ranks.pass(seconds(2));
  queue.staged.stop_lost(ranks[0], ranks.now);
  queue.staged.stop_lost(ranks[0], ranks.now + seconds(3));
  CHECK_MESSAGE(with.state->calls.starts_with("start stop:"), with.state->calls);
  CHECK(without.state->calls == "start");
}

TEST_CASE("a failure before the engine's part that all ranks know ends this call alone") {
  Queue queue;
  Staged call(collective());
  call.state->before = on_host(collective());
  queue.staged.add(call.work);
  queue.step();
  call.state->before->outcome.emplace(fail(Errc::mismatch, "rank 4 differs"));
  call.state->before->blamed_rank = 4;
  CHECK(queue.step());
  CHECK(call.state->calls == "release");
  CHECK(queue.lost.has_value());
  CHECK(call.work->blamed_rank == 4);
  CHECK(call.work->outcome->error().message == "rank 4 differs");
}

TEST_CASE("results beside an operation of the engine count when both have ended well") {
  for (const bool results_first : {true, false}) {
    Queue queue;
    Staged call(collective());
    call.state->beside = call.inner;
    queue.staged.add(call.work);
    CHECK(queue.step());
    CHECK(call.state->calls == "start");
    CHECK(queue.submitted == std::vector<Work>{call.inner});
    CHECK_FALSE(queue.staged.concerns(*on_host(collective())));
    if (results_first) call.state->results = true;
    if (!results_first) call.inner->outcome.emplace();
    CHECK_FALSE(queue.step());
    CHECK_FALSE(call.work->outcome.has_value());
    // Nothing is polled before the engine has ended.
    CHECK(queue.staged.copies() == !results_first);
    CHECK(queue.staged.compares() == results_first);
    if (results_first) call.inner->outcome.emplace();
    if (!results_first) call.state->results = true;
    CHECK(queue.step());
    CHECK(call.work->outcome->has_value());
    CHECK(call.state->calls == "start release");
  }
}

TEST_CASE("where the operation beside them fails, the results are stopped, and count for nothing") {
  for (const bool results_end : {true, false}) {
    Queue queue;
    Staged call(collective());
    call.state->beside = call.inner;
    queue.staged.add(call.work);
    CHECK(queue.step());
    call.inner->outcome.emplace(fail(Errc::mismatch, "all_reduce #1: rank 4 differs"));
    call.inner->blamed_rank = 4;
    CHECK_FALSE(queue.step());
    CHECK(call.state->calls == "start stop:all_reduce #1: rank 4 differs");
    CHECK_FALSE(call.work->outcome.has_value());
    call.state->others_wait = false;
    call.state->results = results_end ? Result<bool>(true) : fail(Errc::os, "aborted");
    CHECK(queue.step());
    CHECK(queue.lost.has_value());
    CHECK(call.work->blamed_rank == 4);
    CHECK(call.work->outcome->error().message == "all_reduce #1: rank 4 differs");
  }
}

TEST_CASE("a lost input is reported, because other ranks wait for it") {
  Queue queue;
  Staged call(collective());
  call.state->input = fail(Errc::os, "cpu:0 has failed");
  queue.staged.add(call.work);
  CHECK(queue.step());
  CHECK(queue.lost.error().message == "cpu:0 has failed");
  CHECK(call.work->outcome->error().message == "cpu:0 has failed");
  CHECK(queue.submitted.empty());
  CHECK(queue.staged.empty());
}

TEST_CASE("lost results fail this rank's call alone") {
  for (const bool at_start : {true, false}) {
    Queue queue;
    Staged call(collective());
    call.state->others_wait = false;
    call.state->input = true;
    if (at_start) call.state->start = fail(Errc::os, "broken");
    if (!at_start) call.state->results = fail(Errc::os, "broken");
    call.inner->outcome.emplace();
    queue.staged.add(call.work);
    CHECK(queue.step());
    CHECK(queue.lost.has_value());
    CHECK(call.work->outcome->error().message == "broken");
    CHECK(call.state->calls == "start release");
  }
}

TEST_CASE("operations that match by their order wait for the input of those before them") {
  const auto request = [](OperationKind kind, int peer) {
    return OperationRequest{.kind = kind, .peer = peer};
  };
  OperationRequest list = collective();
  list.tensors.resize(1);
  OperationRequest named_list = list;
  named_list.name = "l";
  struct Case {
    OperationRequest first;
    OperationRequest second;
    bool waits;
  };
  const OperationRequest join = request(OperationKind::join, 0);
  const OperationRequest send = request(OperationKind::send, 1);
  for (const Case& c : std::vector<Case>{{collective(), request(OperationKind::barrier, 0), true},
                                         {collective(), collective("a"), false},
                                         {collective("a"), collective(), false},
                                         {collective("a"), collective("b"), false},
                                         {collective("a"), collective("a"), true},
                                         {collective(), collective("", 1), false},
                                         {collective("a"), join, true},
                                         {join, collective("a"), true},
                                         {collective(), join, false},
                                         {list, list, true},
                                         {list, named_list, false},
                                         {send, send, true},
                                         {send, request(OperationKind::send, 2), false},
                                         {send, request(OperationKind::receive, 1), false},
                                         {collective(), send, false},
                                         {send, collective(), false}}) {
    Queue queue;
    const Staged first(c.first);
    queue.staged.add(first.work);
    CAPTURE(kind_name(c.first.kind));
    CAPTURE(kind_name(c.second.kind));
    CHECK(queue.staged.concerns(*on_host(c.second)) == c.waits);
  }
}

TEST_CASE("a join goes to the engine behind the announcement of a call by name") {
  Queue queue;
  Staged call(collective("a"));
  call.state->before = std::make_shared<Operation>();
  const Work join = on_host({.kind = OperationKind::join});
  queue.staged.add(call.work);
  queue.staged.add(join);
  CHECK(queue.step());
  // The data of the call may follow. The next one by its name waits for that.
  CHECK(queue.submitted == std::vector<Work>{call.state->before, join});
  CHECK(queue.staged.concerns(*on_host(collective("a"))));
  call.state->before->outcome.emplace();
  call.state->input = true;
  CHECK(queue.step());
  CHECK(queue.submitted.back() == call.inner);
}

TEST_CASE("an operation on the host that waits goes to the engine behind the one before it") {
  Queue queue;
  Staged first(collective());
  Staged second(collective());
  const Work third = on_host(collective());
  second.state->input = true;
  queue.staged.add(first.work);
  queue.staged.add(second.work);
  queue.staged.add(third);
  CHECK_FALSE(queue.step());
  first.state->input = true;
  CHECK(queue.step());
  CHECK(queue.submitted == std::vector<Work>{first.inner, second.inner, third});
  CHECK_FALSE(queue.staged.concerns(*on_host(collective())));
}

TEST_CASE("the end lets all streams continue before it waits for any") {
  Queue queue;
  Staged first(collective("", 4));
  Staged second(collective("", 4));
  queue.staged.add(first.work);
  queue.staged.add(second.work);
  queue.staged.add(on_host(collective("", 4)));
  CHECK(queue.staged.has_group(4));
  CHECK_FALSE(queue.staged.has_group(0));
  queue.staged.finish();
  CHECK(first.state->calls == "release finish");
  CHECK(second.state->calls == "release finish");
  CHECK_FALSE(first.work->outcome.has_value());
  CHECK(queue.staged.empty());
}

}  // namespace
}  // namespace dt
