#include "comm/api/group_agreement.h"

#include "base/format.h"
#include "comm/engine/groups.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dt {
namespace {

using Limit = std::chrono::milliseconds;

RankOutcome outcome_of_group(dtrain::Context& all, const std::vector<int>& list,
                             const std::string& name = {}, Limit limit = Limit::zero()) {
  return World::outcome_of([&] { all.group(list, {.name = name, .timeout = limit}); });
}

int sum_of_ones(dtrain::Context group) {
  std::vector<int> values = {1};
  group.all_reduce(values);
  return values[0];
}

/// Ranks, and a task without a rank, which observes the store.
TaskTable observed_table(int size) {
  TaskTable table = table_of_workers(size, size);
  table.tasks.push_back({.id = {"observer", 0}, .host = "node0", .addresses = {"127.0.0.1"}});
  return table;
}

size_t count_keys(RendezvousClient& observer) {
  const Reply reply = ask(observer, CollectRequest{"groups/", 0, {}});
  return must(decode_entries(reply.value.value())).size();
}

TEST_CASE("no key is left when all members have a group") {
  World world({.size = 3});
  world.begin_generation(observed_table(3));
  const auto observer = world.server().join({"observer", 0});
  check_all_well(world.run([](dtrain::Context& all) {
    for (int i = 0; i < 3; ++i) {
      CHECK(sum_of_ones(*all.group(std::array{2, 0, 1})) == 3);
      std::optional<dtrain::Context> part = all.split(all.rank() / 2);
      CHECK(sum_of_ones(*std::move(part)) == (all.rank() == 2 ? 1 : 2));
    }
    all.barrier();
  }));
  // The members remove the keys after the last call has returned.
  for (const Time end = soon(); count_keys(*observer) > 0 && Clock::now() < end;)
    std::this_thread::yield();
  CHECK(count_keys(*observer) == 0);
}

TEST_CASE("names that differ are a mismatch, and the next call of that list works") {
  World world({.size = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    const std::string own = all.rank() == 0 ? "rows" : "columns";
    const RankOutcome outcome = outcome_of_group(all, {0, 1}, own);
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    CHECK(outcome.rank == 1);
    CHECK(outcome.text == "group \"" + own +
                              "\": rank 0 gave [0, 1] and the name \"rows\", rank 1 [0, 1] and "
                              "the name \"columns\"");
    CHECK(sum_of_ones(*all.group(std::array{0, 1})) == 2);
  }));
}

TEST_CASE("members with another list wait for each other, and a time limit names that list") {
  World world({.size = 3});
  world.begin_generation(observed_table(3));
  const auto observer = world.server().join({"observer", 0});
  check_all_well(world.run([&](dtrain::Context& all) {
    if (all.rank() == 0) {
      // Each of the two others has a proposal, and both count their arrivals.
      for (const Time end = soon(); count_keys(*observer) < 3 && Clock::now() < end;)
        std::this_thread::yield();
      const RankOutcome outcome = outcome_of_group(all, {0, 1}, {}, Limit(10));
      CHECK(outcome.code == DTRAIN_ERROR_TIMEOUT);
      CHECK(outcome.rank == 1);
      CHECK(outcome.text ==
            "group: timed out after 10ms: rank 1 (host node0) has not arrived; rank 1 makes [1, 0, "
            "2]");
    }
    CHECK(sum_of_ones(*all.group(std::array{1, 0, 2})) == 3);
    if (all.rank() == 1) CHECK(outcome_of_group(all, {0, 1}).code == DTRAIN_ERROR_TIMEOUT);
    if (all.rank() < 2) CHECK(sum_of_ones(*all.group(std::array{0, 1})) == 2);
  }));
}

TEST_CASE("a time limit of one member ends the call on all, also on one that comes later") {
  World world({.size = 3});
  std::atomic<int> ended = 0;
  check_all_well(world.run([&](dtrain::Context& all) {
    while (all.rank() == 2 && ended < 2)
      std::this_thread::yield();
    const RankOutcome outcome =
        outcome_of_group(all, {0, 1, 2}, {}, all.rank() == 0 ? Limit(150) : Limit::zero());
    ++ended;
    CHECK(outcome.code == DTRAIN_ERROR_TIMEOUT);
    CHECK(outcome.rank == 2);
    CHECK(outcome.text == "group: timed out after 150ms: rank 2 (host node0) has not arrived");
    CHECK(sum_of_ones(*all.group(std::array{0, 1, 2})) == 3);
  }));
}

TEST_CASE("a failure ends with its context") {
  World world({.size = 2});
  std::atomic<bool> failed = false;
  check_all_well(world.run([&](dtrain::Context& all) {
    if (all.rank() == 0) {
      CHECK(outcome_of_group(all, {0, 1}, {}, Limit(10)).code == DTRAIN_ERROR_TIMEOUT);
      CHECK(World::outcome_of([&] { all.split(0, 0, {.timeout = Limit(10)}); }).code ==
            DTRAIN_ERROR_TIMEOUT);
      failed = true;
    }
    while (!failed)
      std::this_thread::yield();
  }));
  check_all_well(world.run([](dtrain::Context& all) {
    CHECK(sum_of_ones(*all.group(std::array{0, 1})) == 2);
    CHECK(sum_of_ones(*all.split(0)) == 2);
  }));
}

TEST_CASE("a missing member that has left or died ends the call") {
  for (const bool dies : {false, true}) {
    World world({.size = 3});
    world.run([&](dtrain::Context& all) {
      World::outcome_of([&] { all.barrier(); });  // all have joined
      if (all.rank() == 2 && !dies) return all.finalize();
      if (all.rank() == 2)
        return world.server().on_server([](RendezvousServer& server) {
          server.notify({Notice::Kind::dead, {"worker", 2}, "killed by SIGKILL"});
        });
      const RankOutcome outcome = outcome_of_group(all, {0, 1, 2});
      CHECK(outcome.code == DTRAIN_ERROR_PEER_LOST);
      CHECK(outcome.rank == 2);
      CHECK_MESSAGE(contains(outcome.text, dies ? "group: rank 2 (host node0) died: killed by"
                                                : "group: rank 2 (host node0) has left the job"),
                    outcome.text);
    });
  }
}

/// The driver of a rank alone, whose store two ranks can use here.
struct SharedStore {
  SharedStore() {
    std::vector<Engine::Peer> peers(1);
    peers[0].task.rank = 0;
    driver = std::make_unique<Driver>(
        Driver::Parts{.engine = std::make_unique<Engine>(Engine::Options(), std::move(peers))});
  }
  std::unique_ptr<Driver> driver;
};

TEST_CASE("a split that has failed on one rank is made on none") {
  const SharedStore store;
  GroupAgreement zero(*store.driver, 0, 1);
  GroupAgreement one(*store.driver, 1, 1);
  const std::array<int, 2> parent = {0, 1};
  for (int i = 0; i < 2; ++i) {
    ++zero.splits(0);
    ++one.splits(0);
    const std::string split = zero.split_key(0, parent, 7);
    CHECK(split == one.split_key(0, parent, 7));
    one.refuse(split, {Errc::timeout, "timed out after 1s"});
    const auto made = zero.make({.name = "n", .ranks = {0, 1}, .split = split});
    REQUIRE(!made);
    CHECK(made.error() == Error{Errc::timeout, "split \"n\": rank 1: timed out after 1s", 1});
  }
}

TEST_CASE("a failure stays for a member that has arrived and not read it") {
  const SharedStore store;
  GroupAgreement zero(*store.driver, 0, 1);
  GroupAgreement one(*store.driver, 1, 1);
  const std::string split = zero.split_key(0, std::array{0, 1}, 7);
  one.refuse(split, {Errc::timeout, "timed out after 1s"});
  must(store.driver->ask(AddRequest{split + "/arrived", 1}, Time::max()));
  one.erase_failed();
  const auto made = zero.make({.ranks = {0, 1}, .timeout = seconds(60), .split = split});
  REQUIRE(!made);
  CHECK(made.error() == Error{Errc::timeout, "split: rank 1: timed out after 1s", 1});
}

TEST_CASE("numbers that are used up are an error on every member") {
  const SharedStore store;
  store.driver->create_group(Groups::numbers_max - 1, {0});
  std::vector<std::string> errors(2);
  const auto call = [&](int rank) {
    GroupAgreement agreement(*store.driver, rank, 1);
    errors[static_cast<size_t>(rank)] = agreement.make({.ranks = {1, 0}}).error().message;
    CHECK(agreement.make({.ranks = {rank}}).error().code == Errc::unsupported);
  };
  std::thread other([&] { call(1); });
  call(0);
  other.join();
  CHECK(errors == std::vector(2, format("group: {}", no_more_groups)));
}

TEST_CASE("values of the store that no member sets are errors") {
  const SharedStore store;
  GroupAgreement agreement(*store.driver, 0, 1);
  const std::string split = agreement.split_key(0, std::array{0, 1}, 0);
  for (const Bytes& decision : {to_bytes("x"), Bytes(9), Bytes(200)}) {
    must(store.driver->ask(SetRequest{split + "/decision", decision}, Time::max()));
    const auto made = agreement.make({.ranks = {0, 1}, .split = split});
    REQUIRE(!made);
    CHECK(made.error().code == Errc::protocol);
  }
}

/// Makes groups of random ranks in the order of the program, all of which are right.
TEST_CASE("ranks make any groups in one order, at any speed") {
  constexpr int size = 5;
  std::mt19937 random(20);
  std::vector<std::vector<int>> lists;
  for (int i = 0; i < 60; ++i) {
    std::vector<int> list = {0, 1, 2, 3, 4};
    std::ranges::shuffle(list, random);
    list.resize(1 + random() % size);
    lists.push_back(list);
  }
  World world({.size = size, .per_host = 3});
  check_all_well(world.run([&](dtrain::Context& all) {
    for (const std::vector<int>& list : lists) {
      std::optional<dtrain::Context> group = all.group(list);
      if (group) CHECK(sum_of_ones(*std::move(group)) == static_cast<int>(list.size()));
    }
  }));
}

}  // namespace
}  // namespace dt
