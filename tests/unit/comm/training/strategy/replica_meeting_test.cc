#include "comm/training/strategy/replica_meeting.h"

#include "comm/training/strategy/replica_threads.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <stdexcept>

namespace dt {
namespace {

/// Runs `body` on three replicas, numbered from 4.
struct MeetingOfThree {
  template <class Body>
  std::optional<ReplicaFailure> run(const Body& body) {
    meeting.begin();
    threads->run([&](size_t replica) { meeting.leave(replica, body(replica)); });
    return meeting.failure();
  }
  ReplicaMeeting meeting{{.count = 3, .first = 4}};
  std::unique_ptr<ReplicaThreads> threads = ReplicaThreads::start(3).value();
};

TEST_CASE("an operation begins when all replicas have called it, once, with all arguments") {
  MeetingOfThree three;
  std::array<int, 3> values = {1, 20, 300};
  std::atomic<int> calls = 0;
  const auto failure = three.run([&](size_t replica) -> Result<> {
    for (int round = 0; round < 100; ++round) {
      TRY(three.meeting.meet(replica, {"sum", &values[replica]},
                             [&](const std::vector<void*>& all) -> Result<> {
                               ++calls;
                               int sum = 0;
                               for (void* const one : all)
                                 sum += *static_cast<int*>(one);
                               for (void* const one : all)
                                 *static_cast<int*>(one) = sum % 1000;
                               return {};
                             }));
    }
    return {};
  });
  CHECK_FALSE(failure);
  CHECK(calls == 100);
  CHECK(values[0] == values[2]);
}

TEST_CASE("a replica whose step fails ends the waits of the others, and is named") {
  MeetingOfThree three;
  std::array<std::string, 3> texts;
  const auto failure = three.run([&](size_t replica) -> Result<> {
    if (replica == 1) return fail(Errc::input, "boom");
    const Result<> met =
        three.meeting.meet(replica, {"sum"}, [](const auto&) { return Result<>(); });
    texts[replica] = met.error().message;
    return met;
  });
  REQUIRE(failure);
  CHECK(failure->replica == 1);
  CHECK(failure->error.message == "boom");
  CHECK(texts[0] == "replica 5 failed: boom");
  CHECK(texts[2] == "replica 5 failed: boom");
}

TEST_CASE("a replica that ends its step while others wait is a mismatch") {
  MeetingOfThree three;
  const auto failure = three.run([&](size_t replica) -> Result<> {
    if (replica == 2) return {};
    return three.meeting.meet(replica, {"sum of 1"}, [](const auto&) { return Result<>(); });
  });
  REQUIRE(failure);
  CHECK_FALSE(failure->replica);
  CHECK(failure->error.code == Errc::mismatch);
  const std::string& text = failure->error.message;
  CHECK(text.find("replica 6 has ended its step") != std::string::npos);
}

TEST_CASE("replicas that call different operations are named with both") {
  MeetingOfThree three;
  bool called = false;
  const auto failure = three.run([&](size_t replica) -> Result<> {
    return three.meeting.meet(replica, {replica == 2 ? "max of 5" : "sum of 3"}, [&](const auto&) {
      called = true;
      return Result<>();
    });
  });
  REQUIRE(failure);
  CHECK(failure->error ==
        Error{Errc::mismatch, "replica 4 calls sum of 3, but replica 6 calls max of 5"});
  CHECK_FALSE(called);
}

TEST_CASE("a failure of the operation reaches all replicas, and the next step begins anew") {
  MeetingOfThree three;
  std::atomic<int> failed = 0;
  const auto step = [&](bool fails) {
    return three.run([&, fails](size_t replica) -> Result<> {
      const Result<> met = three.meeting.meet(replica, {"sum"}, [fails](const auto&) -> Result<> {
        if (fails) return fail(Errc::os, "no device");
        return {};
      });
      failed += met ? 0 : 1;
      return met;
    });
  };
  const auto failure = step(true);
  REQUIRE(failure);
  CHECK_FALSE(failure->replica);
  CHECK(failure->error.message == "no device");
  CHECK(failed == 3);
  CHECK_FALSE(step(false));
}

TEST_CASE("an operation that throws fails the step of all replicas") {
  MeetingOfThree three;
  const auto failure = three.run([&](size_t replica) {
    return three.meeting.meet(replica, {"sum"}, [](const std::vector<void*>&) -> Result<> {
      throw std::runtime_error("no memory");
    });
  });
  REQUIRE(failure);
  CHECK(failure->error == Error{Errc::os, "no memory"});
}

}  // namespace
}  // namespace dt
