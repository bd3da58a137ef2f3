#include "comm/training/ps/state/push_turn.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr PsMode sync_mode{.number = 1, .kind = PsMode::Kind::sync, .count = 2};

TEST_CASE("an asynchronous turn is one request to each server") {
  PsKnowledge knowledge;
  PushTurn turn(knowledge, 2, true);
  CHECK(turn.awaited() == std::set<uint32_t>{0, 1});
  CHECK(turn.has_values());
  REQUIRE(turn.take(1, {.step = 5}));
  REQUIRE(turn.take(0, {.step = 7}));
  CHECK(turn.phase() == PushTurn::Phase::done);
  CHECK(turn.counted());
  CHECK(knowledge.seen_step == 7);
  CHECK_FALSE(turn.take(0, {}));
}

TEST_CASE("a synchronous turn pushes, commits and pulls") {
  PsKnowledge knowledge{.mode = sync_mode};
  PushTurn turn(knowledge, 2, true);
  CHECK_FALSE(turn.has_values());
  REQUIRE(turn.take(0, {.verdict = PsVerdict::held, .mode = sync_mode}));
  REQUIRE(turn.take(1, {.verdict = PsVerdict::held}));
  REQUIRE(turn.phase() == PushTurn::Phase::commit);
  CHECK(turn.awaited() == std::set<uint32_t>{0});
  const PsDecision decision{.round = 1, .workers = {0, 1}};
  REQUIRE(turn.take(0, {.mode = sync_mode, .decision = decision}));
  REQUIRE(turn.phase() == PushTurn::Phase::pull);
  CHECK(turn.pull().decision == decision);
  REQUIRE(turn.take(0, {.mode = sync_mode, .decision = decision, .step = 1}));
  REQUIRE(turn.take(1, {}));
  CHECK(turn.phase() == PushTurn::Phase::done);
  CHECK(turn.counted());
  CHECK(knowledge.seen_round == 1);
}

TEST_CASE("a push that is too late does not count, and its worker gets new values") {
  PsKnowledge knowledge{.mode = sync_mode};
  PushTurn turn(knowledge, 1, true);
  const PsDecision decision{.round = 4, .workers = {1}};
  REQUIRE(turn.take(0, {.verdict = PsVerdict::stale, .mode = sync_mode, .decision = decision}));
  REQUIRE(turn.phase() == PushTurn::Phase::pull);
  REQUIRE(turn.take(0, {.mode = sync_mode, .decision = decision}));
  CHECK(turn.phase() == PushTurn::Phase::done);
  CHECK_FALSE(turn.counted());
  CHECK(knowledge.seen_round == 4);
}

TEST_CASE("after a change of the mode, the push is sent again in the new one") {
  PsKnowledge knowledge{.mode = sync_mode};
  PushTurn turn(knowledge, 1, true);
  REQUIRE(turn.take(0, {.verdict = PsVerdict::held, .mode = sync_mode}));
  const PsMode now{.number = 2, .kind = PsMode::Kind::async};
  REQUIRE(turn.take(0, {.verdict = PsVerdict::mode_changed, .mode = now}));
  REQUIRE(turn.phase() == PushTurn::Phase::push);
  CHECK(turn.push().kind == PsMode::Kind::async);
  REQUIRE(turn.take(0, {.mode = now, .step = 1}));
  CHECK(turn.phase() == PushTurn::Phase::done);
  CHECK(turn.counted());
}

TEST_CASE("an error of a server ends the turn") {
  PsKnowledge knowledge;
  PushTurn turn(knowledge, 1, false);
  const Result<> taken = turn.take(0, {.error = Error{Errc::input, "no such shard"}});
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message == "no such shard");
}

}  // namespace
}  // namespace dt
