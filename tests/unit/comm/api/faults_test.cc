#include "comm/api/context.h"
#include "comm/api/init_options.h"
#include "comm/include/dtrain/dtrain.hpp"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;
using dtrain::Transport;
using std::chrono::milliseconds;

std::vector<World::Options> transports(milliseconds dead_after) {
  return {{.size = 4, .per_host = 4, .dead_after = dead_after},
          {.size = 4, .per_host = 4, .transport = Transport::tcp, .dead_after = dead_after},
          {.size = 4, .per_host = 2, .dead_after = dead_after}};
}

TEST_CASE("a mismatch names the rank that differs on every rank, and the next operation works") {
  for (const World::Options& options : transports(std::chrono::seconds(60))) {
    World world(options);
    check_all_well(world.run([](Context& context) {
      std::vector<float> values(context.rank() == 2 ? 101 : 100, 1.0F);
      const RankOutcome outcome =
          World::outcome_of([&] { context.all_reduce(values, dtrain::Op::sum, {.name = "g0"}); });
      CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
      CHECK(outcome.rank == 2);
      CHECK_MESSAGE(contains(outcome.text, "rank 2 sent float32[101], others float32[100]"),
                    outcome.text);
      CHECK(contains(outcome.text, "g0"));
      values.assign(100, 1.0F);
      context.all_reduce(values);
      CHECK(values[99] == 4.0F);
    }));
  }
}

TEST_CASE("without an option the job's own dead-after time decides when a connection is lost") {
  RendezvousFixture server(table_of_workers(1), {.dead_after = milliseconds(50)});
  const auto joined = must(
      dt::Context::join({.claim = server.claim({"worker", 0}), .rendezvous = server.address()}));
  CHECK(joined->dead_after() == milliseconds(50));
}

TEST_CASE("ranks that call different operations all learn it") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    std::vector<int> values(10, 1);
    const RankOutcome outcome = World::outcome_of([&] {
      if (context.rank() == 0) context.barrier();
      if (context.rank() == 1) context.all_reduce(values);
    });
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    context.all_reduce(values);
    CHECK(values[0] == 2);
  }));
}

/// Makes a connection between each two ranks.
void connect_all(Context& context) {
  std::vector<int> values(static_cast<size_t>(context.size()));
  context.all_to_all(values, values);
}

/// Rank 2 joins, and `end` then ends it, while the others wait for it in two collectives and a
/// receive. All three must fail soon after `end`: silence alone shows
/// it after 60 s.
void check_all_told(
    World& world, const std::function<void(Context&)>& end,
    const std::function<void(const RankOutcome&)>& check,
    const std::function<void(Context&)>& begin = [](Context& /*context*/) {}) {
  std::latch pending(3);
  std::latch told(3);
  Time ended = Time::max();
  check_all_well(world.run([&](Context& context) {
    begin(context);
    if (context.rank() == 2) {
      pending.wait();
      ended = Clock::now();
      end(context);
      told.wait();
      return;
    }
    std::vector<float> a(1000, 1.0F);
    std::vector<float> b(100'000, 1.0F);
    std::vector<int> c(10);
    std::vector<dtrain::Work> works;
    works.push_back(context.all_reduce_async(a));
    works.push_back(context.all_reduce_async(b));
    works.push_back(context.recv_async(c, 2));
    pending.count_down();
    for (dtrain::Work& work : works)
      check(World::outcome_of([&] { work.wait(); }));
    CHECK(Clock::now() - ended < seconds(30));
    check(World::outcome_of([&] { context.barrier(); }));
    told.count_down();
  }));
}

TEST_CASE("a death fails every pending operation of every rank at once") {
  for (const World::Options& options : transports(std::chrono::seconds(60))) {
    World world(options);
    const std::string host = "node" + std::to_string(2 / options.per_host);
    check_all_told(
        world,
        [&](Context&) {
          world.server().notify({Notice::Kind::dead, {"worker", 2}, "killed by SIGKILL"});
        },
        [&](const RankOutcome& outcome) {
          CHECK(outcome.code == DTRAIN_ERROR_PEER_LOST);
          CHECK(outcome.rank == 2);
          CHECK_MESSAGE(contains(outcome.text, "rank 2"), outcome.text);
          CHECK_MESSAGE(contains(outcome.text, host), outcome.text);
          CHECK_MESSAGE(contains(outcome.text, "killed by SIGKILL"), outcome.text);
        });
  }
}

TEST_CASE("a rank that finalizes early ends the operations that need it, without a notice") {
  for (const World::Options& options : transports(std::chrono::seconds(60))) {
    World world(options);
    const std::string host = "node" + std::to_string(2 / options.per_host);
    check_all_told(
        world, [](Context& context) { context.finalize(); },
        [&](const RankOutcome& outcome) {
          CHECK(outcome.code == DTRAIN_ERROR_PEER_LOST);
          CHECK(outcome.rank == 2);
          CHECK_MESSAGE(contains(outcome.text, "rank 2 (host " + host + ") has left the job"),
                        outcome.text);
        },
        connect_all);
  }
}

TEST_CASE("a rank that has left fails the operations that need it") {
  World world({.size = 4, .per_host = 4, .dead_after = seconds(60)});
  check_all_told(
      world,
      [&](Context& context) {
        context.finalize();
        world.server().notify({Notice::Kind::left, {"worker", 2}, ""});
      },
      [](const RankOutcome& outcome) {
        CHECK(outcome.code == DTRAIN_ERROR_PEER_LOST);
        CHECK(outcome.rank == 2);
        CHECK_MESSAGE(contains(outcome.text, "left"), outcome.text);
      });
}

TEST_CASE("a lost launcher fails all pending operations at once") {
  World world({.size = 4, .per_host = 2, .dead_after = seconds(60)});
  check_all_told(
      world, [&](Context&) { world.server().stop(); },
      [](const RankOutcome& outcome) {
        CHECK(outcome.code == DTRAIN_ERROR_PEER_LOST);
        CHECK_MESSAGE(contains(outcome.text, "launcher"), outcome.text);
      });
}

TEST_CASE("a blocking operation learns of a death that came before it") {
  World world({.size = 2, .per_host = 2});
  std::latch joined(2);
  std::latch done(1);
  check_all_well(world.run([&](Context& context) {
    joined.arrive_and_wait();
    if (context.rank() == 1) return done.wait();
    world.server().notify({Notice::Kind::dead, {"worker", 1}, "exit status 3"});
    const RankOutcome outcome = World::outcome_of([&] { context.barrier(); });
    done.count_down();
    CHECK(outcome.code == DTRAIN_ERROR_PEER_LOST);
    CHECK(outcome.rank == 1);
    CHECK(contains(outcome.text, "exit status 3"));
  }));
}

TEST_CASE("what a rank sent before it finalized still arrives") {
  for (const World::Options& options : transports(std::chrono::seconds(60))) {
    World world(options);
    std::latch left(1);
    check_all_well(world.run([&](Context& context) {
      std::vector<int> values(50'000, context.rank());
      if (context.rank() == 0) {
        // Unread input must not make the end of the connection a reset.
        left.wait();
        context.recv(values, 1);
        CHECK(values.back() == 1);
      } else if (context.rank() == 1) {
        dtrain::Work sending = context.send_async(values, 0);
        left.count_down();
        sending.wait();
        context.finalize();
      }
    }));
  }
}

TEST_CASE("an operation's time limit ends it with Errc::timeout") {
  World world({.size = 2, .per_host = 2});
  std::latch done(1);
  check_all_well(world.run([&](Context& context) {
    if (context.rank() == 1) return done.wait();
    std::vector<int> values(10);
    const RankOutcome late =
        World::outcome_of([&] { context.recv(values, 1, {.timeout = milliseconds(50)}); });
    CHECK(late.code == DTRAIN_ERROR_TIMEOUT);
    const RankOutcome barrier =
        World::outcome_of([&] { context.barrier({.timeout = milliseconds(50)}); });
    done.count_down();
    CHECK(barrier.code == DTRAIN_ERROR_TIMEOUT);
    CHECK_MESSAGE(contains(barrier.text, "rank 1"), barrier.text);
  }));
}

TEST_CASE("works outlive their context and then fail as finalized") {
  World world({.size = 2, .per_host = 2});
  std::latch done(1);
  check_all_well(world.run([&](Context& context) {
    // Its finalize would end the other's receive as peer_lost.
    if (context.rank() == 1) return done.wait();
    std::vector<int> values(10);
    dtrain::Work work = context.recv_async(values, 1);
    context.finalize();
    const RankOutcome outcome = World::outcome_of([&] { work.wait(); });
    done.count_down();
    CHECK(outcome.code == DTRAIN_ERROR_CLOSED);
    CHECK(work.done());
  }));
}

TEST_CASE("a restarted rank gets no collectives, by name, unless it is the only one") {
  for (const int size : {1, 2}) {
    RendezvousFixture server(table_of_workers(size));
    server.notify({Notice::Kind::dead, {"worker", 0}, "killed by SIGKILL", 1, true});
    server.notify({Notice::Kind::restarted, {"worker", 0}, "", 2});
    const std::string token = server.token().text();
    const auto variable = [](const char* name) {
      return std::string_view(name) == "DTRAIN_ATTEMPT" ? "2" : nullptr;
    };
    const InitOptions options = must(init_options_from({.role = "worker",
                                                        .rendezvous = server.address().text(),
                                                        .token = token,
                                                        .job = server.table().job,
                                                        .generation = server.table().generation},
                                                       variable));
    const auto joined = dt::Context::join(options);
    CHECK(joined.has_value() == (size == 1));
    if (joined) continue;
    CHECK(joined.error() ==
          Error{Errc::peer_lost,
                "worker:0 was restarted (attempt 2), and the end of its attempt before has ended "
                "the collectives of the job; a restarted rank can use parameter servers alone "
                "(dtrain_ps_connect without a context)",
                0});
  }
}

TEST_CASE("a restart revives no collective") {
  World world({.size = 2, .per_host = 2});
  std::latch joined(2);
  std::latch done(1);
  check_all_well(world.run([&](Context& context) {
    joined.arrive_and_wait();
    if (context.rank() == 1) return done.wait();
    world.server().notify({Notice::Kind::dead, {"worker", 1}, "exit status 3", 1, true});
    world.server().notify({Notice::Kind::restarted, {"worker", 1}, "", 2});
    for (int call = 0; call < 2; ++call) {
      const RankOutcome outcome = World::outcome_of([&] { context.barrier(); });
      CHECK(outcome.code == DTRAIN_ERROR_PEER_LOST);
      CHECK(contains(outcome.text, "exit status 3"));
    }
    done.count_down();
  }));
}

}  // namespace
}  // namespace dt
