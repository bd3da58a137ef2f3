#include "comm/driver/poller.h"

#include "comm/driver/driver.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

TEST_CASE("a driver that reads from one rank also gets what others send") {
  World world({.size = 3, .per_host = 1});
  check_all_well(world.run([](Context& context) {
    std::vector<int> value = {context.rank()};
    context.barrier();
    if (context.rank() == 2) return context.send(value, 0);
    if (context.rank() == 1) {
      // Rank 0 waits for this rank until it has received from rank 2.
      std::vector<int> got = {0};
      context.recv(got, 0);
      CHECK(got[0] == 2);
      return context.send(value, 0);
    }
    std::vector<int> of_1 = {0};
    std::vector<int> of_2 = {0};
    dtrain::Work second = context.recv_async(of_2, 2);
    std::thread forwarder([&] {
      second.wait();
      context.send(of_2, 1);
    });
    context.recv(of_1, 1);
    forwarder.join();
    CHECK(of_1[0] == 1);
  }));
}

TEST_CASE("ranks that share their cores get data over links") {
  // Each host has more ranks than this machine has cores, so all waits yield.
  const int ranks = static_cast<int>(std::thread::hardware_concurrency()) + 1;
  World world({.size = ranks + 1, .per_host = ranks});
  check_all_well(world.run([&](Context& context) {
    for (int round = 0; round < 50; ++round) {
      std::vector<int> values = {context.rank()};
      context.all_reduce(values);
      CHECK(values[0] == ranks * (ranks + 1) / 2);
    }
  }));
}

/// The parts of a driver that spins for an hour before it sleeps.
Driver::Parts join_sleepless(const RendezvousFixture& server, int rank) {
  Driver::Parts parts{
      .engine = {}, .client = server.join_worker(rank), .spin = std::chrono::hours(1)};
  parts.mesh = must(Mesh::join(*parts.client, {.claim = server.claim({"worker", rank})}, soon()));
  std::vector<Engine::Peer> peers(server.table().tasks.size());
  peers[static_cast<size_t>(rank)].task = parts.client->self();
  for (Mesh::Peer& peer : parts.mesh->take_peers())
    peers[static_cast<size_t>(peer.task.rank)] = {peer.task, std::move(peer.link)};
  parts.engine = std::make_unique<Engine>(
      Engine::Options{.rank = rank, .shared = parts.mesh->shared_area()}, std::move(peers));
  return parts;
}

TEST_CASE("a driver that never sleeps gets the notices of the rendezvous") {
  RendezvousFixture server(table_of_workers(2, 2));
  auto joins = std::async(std::launch::async, [&] { return join_sleepless(server, 1); });
  Driver driver(join_sleepless(server, 0));
  const Driver::Parts silent = joins.get();
  int value = 1;
  const Driver::Work work = driver.start({.kind = OperationKind::all_reduce,
                                          .type = ElementType::int32,
                                          .count = 1,
                                          .input = &value,
                                          .output = &value});
  server.notify({Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL"});
  const auto outcome = driver.wait(work, soon());
  REQUIRE(outcome.has_value());
  REQUIRE_FALSE(outcome->has_value());
  CHECK(outcome->error().blamed_rank == 1);
  CHECK(outcome->error().message.find("killed by SIGKILL") != std::string::npos);
}

}  // namespace
}  // namespace dt
