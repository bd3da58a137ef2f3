#include "launcher/process/forked_query.h"

#include "launcher/process/sweep.h"
#include "tests/sim/job/virtual_loop.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <optional>
#include <vector>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::vector<ForkedQuery::Answer> answers;

  void ask(const ForkedQuery::Question& question) {
    const auto asker =
        ForkedQuery::start(*loop, question, seconds(60), [this](const ForkedQuery::Answer& said) {
          answers.push_back(said);
          loop->stop();
        }).value();
    CHECK(loop->run().has_value());
    REQUIRE(answers.size() == 1);
  }
};

/// Until the kernel has ended what was killed.
void reap_all() {
  while (has_children())
    reap_strangers([](pid_t) { return false; });
}

TEST_CASE_FIXTURE(Fixture, "Asker hands over the whole answer, however long") {
  const Bytes long_answer(300'000, std::byte{7});
  ask([&long_answer] { return long_answer; });
  CHECK(answers[0].end == ForkedQuery::End::answered);
  CHECK(answers[0].bytes == long_answer);
  reap_all();
}

TEST_CASE_FIXTURE(Fixture, "Asker says when who was to answer has ended without a word") {
  ask([]() -> Bytes { _exit(3); });
  CHECK(answers[0].end == ForkedQuery::End::silent);
  reap_all();
}

TEST_CASE("Asker says when the patience is over, and ends who has not answered") {
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
  const auto asker =
      ForkedQuery::start(*loop, never, seconds(5), [&](const ForkedQuery::Answer& answer) {
        end = answer.end;
        loop->stop();
      }).value();
  CHECK(loop->run().has_value());
  CHECK(end == ForkedQuery::End::late);
  CHECK(time.now - began == seconds(5));
  reap_all();
}

TEST_CASE("Asker that is destroyed ends who would answer, and says nothing") {
  const auto loop = Loop::create().value();
  bool told = false;
  auto asker = ForkedQuery::start(
                   *loop,
                   []() -> Bytes {
                     for (;;)
                       ::pause();
                   },
                   seconds(60), [&told](const ForkedQuery::Answer&) { told = true; })
                   .value();
  CHECK(asker->pid() > 0);
  asker.reset();
  reap_all();
  CHECK_FALSE(told);
}

}  // namespace
}  // namespace dt
