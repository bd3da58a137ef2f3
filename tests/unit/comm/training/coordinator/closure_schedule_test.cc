#include "comm/training/coordinator/closure_schedule.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

constexpr Time start = Time() + seconds(1000);

ClosureSchedule::Options options_of(int workers) {
  ClosureSchedule::Options options;
  options.workers = table_of_workers(workers).tasks;
  return options;
}

/// "worker:name" of each dispatch.
std::vector<std::string> dispatched(ClosureSchedule& schedule) {
  std::vector<std::string> texts;
  for (const auto& dispatch : schedule.take_dispatches()) {
    const ClosureMessage message = decode_closure_message(*dispatch.message).value();
    texts.push_back(std::to_string(dispatch.worker) + ":" + std::get<RunClosure>(message).name);
  }
  return texts;
}

using Texts = std::vector<std::string>;

uint64_t add(ClosureSchedule& schedule, const std::string& name, bool kept = true) {
  return schedule.add(name, {}, kept).value();
}

Notice death_of(int worker) {
  return {Notice::Kind::dead, {"worker", worker}, "killed by SIGKILL"};
}

TEST_CASE("closures go to idle workers in their order, one at a time") {
  ClosureSchedule schedule(options_of(2));
  const uint64_t a = add(schedule, "a");
  const uint64_t b = add(schedule, "b");
  add(schedule, "c");
  CHECK(dispatched(schedule).empty());
  schedule.connected(1);
  CHECK(dispatched(schedule) == Texts{"1:a"});
  schedule.connected(0);
  CHECK(dispatched(schedule) == Texts{"0:b"});
  CHECK(schedule.unfinished() == 3);
  CHECK(schedule.state(a) == ClosureSchedule::State::unfinished);
  REQUIRE(schedule.finished(1, 1, {.result = to_bytes("result")}));
  CHECK(dispatched(schedule) == Texts{"1:c"});
  CHECK(schedule.state(a) == ClosureSchedule::State::finished);
  CHECK(schedule.fetch(a) == to_bytes("result"));
  CHECK(schedule.state(a) == ClosureSchedule::State::unknown);
  CHECK(schedule.state(b) == ClosureSchedule::State::unfinished);
  CHECK(schedule.state(99) == ClosureSchedule::State::unknown);
  REQUIRE(schedule.finished(0, 2, {}));
  REQUIRE(schedule.finished(1, 3, {}));
  CHECK(schedule.unfinished() == 0);
  CHECK_FALSE(schedule.take_failure());
}

TEST_CASE("the closure of a lost worker is the next of another one") {
  ClosureSchedule schedule(options_of(2));
  schedule.connected(0);
  add(schedule, "a");
  add(schedule, "b");
  CHECK(dispatched(schedule) == Texts{"0:a"});
  SUBCASE("whose connection broke") {
    schedule.disconnected(0, start);
    CHECK(schedule.any_unexplained());
  }
  SUBCASE("which died") {
    CHECK(schedule.gone(death_of(0)) == 0);
    CHECK_FALSE(schedule.any_unexplained());
  }
  CHECK(schedule.any_absent());
  schedule.connected(1);
  CHECK_FALSE(schedule.any_absent());
  CHECK(dispatched(schedule) == Texts{"1:a"});
  // A process of the same task may come again.
  schedule.connected(0);
  CHECK(dispatched(schedule) == Texts{"0:b"});
}

TEST_CASE("an error names the closure, and the worker with its host") {
  ClosureSchedule schedule(options_of(2));
  schedule.connected(1);
  const uint64_t a = add(schedule, "a");
  const uint64_t b = add(schedule, "b", false);
  static_cast<void>(schedule.take_dispatches());
  REQUIRE(schedule.finished(1, 1, {.error = Error{Errc::mismatch, "no such row"}}));
  static_cast<void>(schedule.take_dispatches());
  REQUIRE(schedule.finished(1, 2, {.error = Error{Errc::input, "again"}}));
  CHECK(schedule.state(b) == ClosureSchedule::State::unknown);
  CHECK(schedule.fetch(a).error() ==
        Error{Errc::mismatch, "closure \"a\", on worker:1 on node1: no such row", 1});
  const auto failure = schedule.take_failure();
  CHECK(failure == Error{Errc::mismatch,
                         "closure \"a\", on worker:1 on node1: no such row; "
                         "1 more closures have failed after it",
                         1});
  CHECK_FALSE(schedule.take_failure());
}

TEST_CASE("all closures fail when too few workers are left") {
  ClosureSchedule::Options options = options_of(3);
  options.workers_min = 2;
  ClosureSchedule schedule(options);
  schedule.connected(2);
  const uint64_t a = add(schedule, "a");
  const uint64_t b = add(schedule, "b");
  static_cast<void>(schedule.take_dispatches());
  schedule.gone(death_of(0));
  CHECK(schedule.unfinished() == 2);
  schedule.gone({Notice::Kind::left, {"worker", 1}, ""});
  CHECK(schedule.unfinished() == 0);
  const std::string why =
      "the coordinator needs 2 workers, and 1 are left: worker:0 on node0 died: killed by SIGKILL, "
      "worker:1 on node1 has left the job";
  CHECK(schedule.fetch(a).error() == Error{Errc::peer_lost, "closure \"a\": " + why, 1});
  CHECK(schedule.fetch(b).error().message == "closure \"b\": " + why);
  CHECK(schedule.add("c", {}, true).error() ==
        Error{Errc::peer_lost, "closure \"c\" is not scheduled: " + why, 1});
  CHECK(dispatched(schedule).empty());
  // The worker that is left may still end what it ran, without an effect.
  REQUIRE(schedule.finished(2, 1, {}));
  CHECK(schedule.finished(2, 1, {}).error().code == Errc::protocol);
  CHECK(schedule.state(a) == ClosureSchedule::State::unknown);
}

TEST_CASE("a broken connection waits for the notice that explains it, but not for ever") {
  ClosureSchedule schedule(options_of(1));
  schedule.connected(0);
  const uint64_t a = add(schedule, "a");
  static_cast<void>(schedule.take_dispatches());
  CHECK(schedule.next_deadline() == Time::max());
  schedule.disconnected(0, start);
  CHECK(schedule.next_deadline() == start + milliseconds(700));
  schedule.advance(start + milliseconds(699));
  CHECK(schedule.state(a) == ClosureSchedule::State::unfinished);
  SUBCASE("the notice comes") {
    schedule.gone(death_of(0));
    CHECK(schedule.fetch(a).error().message ==
          "closure \"a\": the coordinator needs 1 workers, and 0 are left: worker:0 on node0 "
          "died: killed by SIGKILL");
  }
  SUBCASE("no notice comes") {
    schedule.advance(start + milliseconds(700));
    CHECK(schedule.fetch(a).error().message ==
          "closure \"a\": the coordinator needs 1 workers, and 0 are left: worker:0 on node0 has "
          "closed its connection");
  }
  CHECK(schedule.next_deadline() == Time::max());
}

TEST_CASE("what the coordinator holds is bounded") {
  ClosureSchedule::Options options = options_of(1);
  options.closures_max = 2;
  options.bytes_max = 100;
  ClosureSchedule schedule(options);
  const auto refusal = [&](const std::string& name, size_t bytes) {
    const auto added = schedule.add(name, Bytes(bytes), true);
    return added ? std::string() : added.error().message;
  };
  CHECK(refusal("a", closure_bytes_max + 1) ==
        "closure \"a\" is not scheduled: its argument has 67108865 bytes, at most 67108864 are "
        "possible");
  CHECK(refusal("a", 50).empty());
  CHECK(refusal("b", 50) ==
        "closure \"b\" is not scheduled: the arguments and results of others have 60 bytes, and "
        "all may have 100");
  CHECK(refusal("b", 10).empty());
  CHECK(refusal("c", 0) ==
        "closure \"c\" is not scheduled: 2 are unfinished or wait for a fetch, the maximum");
  CHECK(schedule.add("", {}, true).error().code == Errc::input);
  // Results count until they are fetched.
  schedule.connected(0);
  static_cast<void>(schedule.take_dispatches());
  REQUIRE(schedule.finished(0, 1, {.result = Bytes(70)}));
  static_cast<void>(schedule.take_dispatches());
  REQUIRE(schedule.finished(0, 2, {}));
  CHECK_FALSE(refusal("d", 0).empty());
  static_cast<void>(schedule.fetch(2));
  CHECK_FALSE(refusal("d", 40).empty());
  static_cast<void>(schedule.fetch(1));
  CHECK(refusal("d", 40).empty());
}

TEST_CASE("an outcome of another dispatch breaks the protocol") {
  ClosureSchedule schedule(options_of(2));
  schedule.connected(0);
  CHECK(schedule.finished(0, 1, {}).error().code == Errc::protocol);
  add(schedule, "a");
  static_cast<void>(schedule.take_dispatches());
  CHECK(schedule.finished(0, 2, {}).error().message ==
        "worker:0 on node0 has ended a closure that it does not run");
  CHECK(schedule.finished(1, 1, {}).error().code == Errc::protocol);
  CHECK(schedule.unfinished() == 1);
}

TEST_CASE("an unfinished closure is described by its worker") {
  ClosureSchedule schedule(options_of(1));
  const uint64_t a = add(schedule, "a");
  CHECK(schedule.describe_unfinished({}) == "closure \"a\", which waits for a worker,");
  schedule.connected(0);
  static_cast<void>(schedule.take_dispatches());
  CHECK(schedule.describe_unfinished(a) == "closure \"a\", on worker:0 on node0,");
}

}  // namespace
}  // namespace dt
