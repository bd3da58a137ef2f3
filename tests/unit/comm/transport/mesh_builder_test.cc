#include "comm/transport/mesh_builder.h"

#include "base/io/socket.h"
#include "comm/api/context.h"
#include "comm/api/init_options.h"
#include "comm/transport/peer_endpoint.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

using dtrain::Transport;
using std::chrono::milliseconds;

TEST_CASE("a rank or size that disagrees with the job is refused") {
  const RendezvousFixture server(table_of_workers(1));
  for (const auto& [rank, size] : {std::pair{1, 1}, std::pair{0, 2}}) {
    const auto joined = Context::join({.claim = server.claim({"worker", 0}),
                                       .rendezvous = server.address(),
                                       .rank = rank,
                                       .size = size});
    REQUIRE(!joined);
    CHECK(joined.error().code == Errc::input);
    CHECK(contains(joined.error().message, rank == 1 ? "DTRAIN_RANK is 1" : "DTRAIN_SIZE is 2"));
  }
}

TEST_CASE("init names the ranks that have not joined in time") {
  World world({.size = 4, .per_host = 2, .timeout = seconds(3)});
  const auto outcomes = world.on_threads([&](int rank) {
    if (rank < 2) dtrain::init(world.init_options(rank));
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    const RankOutcome& outcome = outcomes[rank];
    CHECK(outcome.code == DTRAIN_ERROR_TIMEOUT);
    CHECK(outcome.rank == 2);
    CHECK_MESSAGE(contains(outcome.text, "rank 2 (worker:2 on node1)"), outcome.text);
    CHECK_MESSAGE(contains(outcome.text, "rank 3 (worker:3 on node1)"), outcome.text);
    CHECK(!contains(outcome.text, "rank 1 ("));
  }
}

TEST_CASE("init fails at once when a rank dies before all have joined") {
  World world({.size = 3, .per_host = 3});
  world.server().notify({Notice::Kind::dead, {"worker", 2}, "exit status 1"});
  const auto outcomes = world.on_threads([&](int rank) {
    if (rank < 2) dtrain::init(world.init_options(rank));
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    CHECK(outcomes[rank].code == DTRAIN_ERROR_PEER_LOST);
    CHECK(outcomes[rank].rank == 2);
    CHECK(contains(outcomes[rank].text, "rank 2 (worker:2 on node0)"));
    CHECK(contains(outcomes[rank].text, "exit status 1"));
  }
}

TEST_CASE("a rank that starts again is dialed at its new address") {
  World world({.size = 2, .per_host = 2});
  // The first life of rank 0: it publishes an address at which nobody listens any more.
  auto first_life = world.server().join_worker(0);
  const PeerEndpoint gone{.tcp = {}, .local = "dtrain-gone"};
  REQUIRE(
      first_life->set(endpoint_key({"worker", 0}), gone.encode(), soon(), Lifetime::connection));
  const auto outcomes = world.on_threads([&](int rank) {
    if (rank == 1) {
      const dtrain::Context context = dtrain::init(world.init_options(1));
      return;
    }
    // By the reply, rank 1 has published, and has had the list with the old address.
    REQUIRE(ask(*first_life, WaitRequest{endpoint_key({"worker", 1}), seconds(30)}) == Reply{});
    first_life.reset();
    world.server().until([](const auto& counters) { return counters.joined == 1; });
    const dtrain::Context context = dtrain::init(world.init_options(0));
  });
  check_all_well(outcomes);
}

TEST_CASE("a rank with another token, job or generation is refused") {
  World world({.size = 1, .per_host = 1, .timeout = milliseconds(3000)});
  dtrain::InitOptions changed[] = {world.init_options(0), world.init_options(0),
                                   world.init_options(0)};
  changed[0].token = std::string(64, 'a');
  changed[1].job = "another";
  changed[2].generation = 9;
  for (const dtrain::InitOptions& options : changed) {
    const RankOutcome outcome = World::outcome_of([&] { dtrain::init(options); });
    CHECK_MESSAGE(outcome.code == DTRAIN_ERROR_REFUSED, outcome.text);
    CHECK(contains(outcome.text, world.server().address().text()));
  }
}

TEST_CASE("a rendezvous that is not there, or is no rendezvous, is named") {
  World world({.size = 1, .per_host = 1, .timeout = milliseconds(300)});
  dtrain::InitOptions options = world.init_options(0);
  options.rendezvous = "127.0.0.1:1";
  const RankOutcome closed = World::outcome_of([&] { dtrain::init(options); });
  CHECK_MESSAGE(closed.code == DTRAIN_ERROR_UNREACHABLE, closed.text);
  CHECK(contains(closed.text, "127.0.0.1:1"));
  CHECK(contains(closed.text, "dtrain run"));
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  options.rendezvous = local_address(silent.get()).value().text();
  const RankOutcome foreign = World::outcome_of([&] { dtrain::init(options); });
  CHECK_MESSAGE(foreign.code == DTRAIN_ERROR_TIMEOUT, foreign.text);
  CHECK(contains(foreign.text, options.rendezvous));
}

TEST_CASE("shared memory alone is refused when ranks are on two hosts") {
  World world({.size = 2, .per_host = 1, .transport = Transport::shm});
  for (const RankOutcome& outcome : world.run([](dtrain::Context&) {})) {
    CHECK(outcome.code == DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(outcome.text, "on another host"), outcome.text);
  }
}

TEST_CASE("ranks with different transports fail, and the message has the remedy") {
  World world({.size = 2, .per_host = 2, .timeout = seconds(5)});
  const auto outcomes = world.on_threads([&](int rank) {
    dtrain::InitOptions options = world.init_options(rank);
    options.transport = rank == 0 ? Transport::tcp : Transport::shm;
    dtrain::init(options);
  });
  for (const RankOutcome& outcome : outcomes) {
    CHECK(outcome.code == DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(outcome.text, "give all ranks the same transport"), outcome.text);
  }
}

TEST_CASE("hosts with different transports fail on every rank, with both transports") {
  World world({.size = 4, .per_host = 2, .timeout = seconds(5)});
  const auto outcomes = world.on_threads([&](int rank) {
    dtrain::InitOptions options = world.init_options(rank);
    options.transport = rank < 2 ? Transport::automatic : Transport::tcp;
    dtrain::init(options);
  });
  for (const RankOutcome& outcome : outcomes) {
    CHECK(outcome.code == DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(outcome.text, "has the transport "), outcome.text);
    CHECK_MESSAGE(contains(outcome.text, "give all ranks the same transport"), outcome.text);
  }
}

TEST_CASE("the job's transport holds on every rank, and a program cannot choose another one") {
  World world({.size = 2, .per_host = 2, .job_transport = "tcp"});
  check_all_well(world.run([](dtrain::Context& ranks) {
    std::string text(dtrain_algorithms(ranks.get(), nullptr, 0), '\0');
    dtrain_algorithms(ranks.get(), text.data(), text.size() + 1);
    CHECK(!contains(text, "shm"));
  }));
  const auto outcomes = world.on_threads([&](int rank) {
    dtrain::InitOptions options = world.init_options(rank);
    options.transport = Transport::shm;
    dtrain::init(options);
  });
  for (const RankOutcome& outcome : outcomes) {
    CHECK(outcome.code == DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(outcome.text, "transport is shm, but the job has --transport tcp"),
                  outcome.text);
  }
  World unknown({.size = 1, .per_host = 1, .job_transport = "rdma"});
  for (const RankOutcome& outcome : unknown.run([](dtrain::Context&) {}))
    CHECK_MESSAGE(contains(outcome.text, "--transport \"rdma\" is unknown"), outcome.text);
}

TEST_CASE("a task without rank gets an error: collectives need one") {
  TaskTable table = table_of_workers(1);
  table.tasks.push_back(
      {.id = {"ps", 0}, .rank = -1, .agent = 0, .host = "node0", .addresses = {}});
  const RendezvousFixture server(std::move(table));
  const auto joined =
      Context::join({.claim = server.claim({"ps", 0}), .rendezvous = server.address()});
  REQUIRE(!joined);
  CHECK(joined.error().code == Errc::input);
  CHECK(contains(joined.error().message, "ps:0 has no rank"));
}

}  // namespace
}  // namespace dt
