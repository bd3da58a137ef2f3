#include "launcher/process/forked_query.h"

#include "tests/sim/job/virtual_loop.h"
#include "tests/unit/new_children.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <csignal>
#include <optional>
#include <vector>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::vector<ForkedQuery::Answer> answers;
  NewChildren children;

  /// Ends only when all processes have ended by themselves, or were killed.
  ~Fixture() { children.collect(); }

  void ask(const ForkedQuery::Question& question) {
    const auto query =
        ForkedQuery::start(*loop, question, seconds(60), [this](const ForkedQuery::Answer& said) {
          answers.push_back(said);
          loop->stop();
        }).value();
    CHECK(loop->run().has_value());
    REQUIRE(answers.size() == 1);
  }
};

TEST_CASE_FIXTURE(Fixture, "ForkedQuery delivers the whole answer, however long") {
  const Bytes long_answer(300'000, std::byte{7});
  ask([&long_answer] { return long_answer; });
  CHECK(answers[0].end == ForkedQuery::End::answered);
  CHECK(answers[0].bytes == long_answer);
}

TEST_CASE_FIXTURE(Fixture, "ForkedQuery delivers an empty answer as an answer") {
  ask([] { return Bytes(); });
  CHECK(answers[0].end == ForkedQuery::End::answered);
  CHECK(answers[0].bytes.empty());
}

TEST_CASE_FIXTURE(Fixture, "ForkedQuery reports a process that was killed within its answer") {
  // Far more than a pipe holds: the process is still writing when its first bytes arrive.
  const auto long_answer = [] { return Bytes(3'000'000, std::byte{7}); };
  const auto query =
      ForkedQuery::start(*loop, long_answer, seconds(60), [this](const ForkedQuery::Answer& cut) {
        answers.push_back(cut);
        loop->stop();
      }).value();
  CHECK(loop->run_once(Time::max()).has_value());
  REQUIRE(answers.empty());
  CHECK(::kill(query->pid(), SIGKILL) == 0);
  CHECK(loop->run().has_value());
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].end == ForkedQuery::End::cut);
  CHECK(answers[0].bytes.empty());
}

TEST_CASE_FIXTURE(Fixture, "ForkedQuery reports a process that ended without an answer") {
  ask([]() -> Bytes { _exit(3); });
  CHECK(answers[0].end == ForkedQuery::End::silent);
}

TEST_CASE("ForkedQuery reports the end of its patience, and kills the process") {
  const NewChildren children;
  VirtualTime time;
  const auto loop = VirtualLoop::create(time, [&time](Time until) {
                      time.now = until;
                      return until != Time::max();
                    }).value();
  const Time began = time.now;
  std::optional<ForkedQuery::End> end;
  const auto never = []() -> Bytes {
    for (;;)
      ::pause();
  };
  const auto query =
      ForkedQuery::start(*loop, never, seconds(5), [&](const ForkedQuery::Answer& answer) {
        end = answer.end;
        loop->stop();
      }).value();
  CHECK(loop->run().has_value());
  CHECK(end == ForkedQuery::End::late);
  CHECK(time.now - began == seconds(5));
  children.collect();
}

TEST_CASE("ForkedQuery that is destroyed kills its process, and does not call back") {
  const NewChildren children;
  const auto loop = Loop::create().value();
  bool called = false;
  auto query = ForkedQuery::start(
                   *loop,
                   []() -> Bytes {
                     for (;;)
                       ::pause();
                   },
                   seconds(60), [&called](const ForkedQuery::Answer&) { called = true; })
                   .value();
  CHECK(query->pid() > 0);
  query.reset();
  children.collect();
  CHECK_FALSE(called);
}

}  // namespace
}  // namespace dt
