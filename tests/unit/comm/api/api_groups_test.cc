#include "comm/include/dtrain/dtrain.hpp"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <optional>
#include <vector>

namespace dt {
namespace {

int sum_over(dtrain::Context& context, int value) {
  std::vector<int> values = {value};
  context.all_reduce(values);
  return values[0];
}

TEST_CASE("ranks split by color, and have numbers of their own by key") {
  World world({.size = 5, .per_host = 3});
  check_all_well(world.run([](dtrain::Context& all) {
    // Colors 0: ranks 0, 2, 4; 1: ranks 1, 3. Higher ranks come first.
    std::optional<dtrain::Context> group = all.split(all.rank() % 2, -all.rank());
    REQUIRE(group);
    CHECK(group->size() == (all.rank() % 2 == 0 ? 3 : 2));
    CHECK(group->rank() == (4 - all.rank()) / 2);
    CHECK(sum_over(*group, all.rank()) == (all.rank() % 2 == 0 ? 6 : 4));
    CHECK(group->local_size() <= 2);
    CHECK(sum_over(all, 1) == 5);
  }));
}

bool executes_in_memory(const dtrain::Context& context) {
  std::array<char, 4096> text = {};
  dtrain_algorithms(context.get(), text.data(), text.size());
  return contains(text.data(), "all_reduce=shm");
}

TEST_CASE("groups by color share the memory of their host, as the job does") {
  World world({.size = 4, .per_host = 4});
  check_all_well(world.run([](dtrain::Context& all) {
    CHECK(executes_in_memory(all));
    std::optional<dtrain::Context> pair = all.split(all.rank() / 2);
    REQUIRE(pair);
    CHECK(executes_in_memory(*pair));
    CHECK(sum_over(*pair, all.rank()) == (all.rank() < 2 ? 1 : 5));
    std::vector<int> many(1'000'000, all.rank());
    pair->all_reduce(many);
    CHECK(many == std::vector<int>(many.size(), all.rank() < 2 ? 1 : 5));
  }));
}

TEST_CASE("groups by a list of ranks share the memory of each host") {
  for (const int per_host : {2, 4}) {
    World world({.size = 4, .per_host = per_host});
    check_all_well(world.run([](dtrain::Context& all) {
      const std::array list = {3, 2, 0};
      std::optional<dtrain::Context> group = all.group(list);
      CHECK(group.has_value() == (all.rank() != 1));
      if (!group) return;
      // Rank 0 is alone on its host, where each has two ranks.
      CHECK(executes_in_memory(*group) == (group->local_size() == 3));
      CHECK(list[static_cast<size_t>(group->rank())] == all.rank());
      std::vector<int> many(1'000'000, all.rank());
      group->all_reduce(many);
      CHECK(many == std::vector<int>(many.size(), 5));
    }));
  }
}

TEST_CASE("groups have no memory where their ranks use TCP or are on several hosts") {
  World::Options by_tcp{.size = 2, .per_host = 2};
  by_tcp.transport = dtrain::Transport::tcp;
  for (const World::Options& options : {by_tcp, World::Options{.size = 2, .per_host = 1}}) {
    World world(options);
    check_all_well(world.run([](dtrain::Context& all) {
      std::optional<dtrain::Context> pair = all.split(0);
      REQUIRE(pair);
      CHECK_FALSE(executes_in_memory(*pair));
      CHECK(sum_over(*pair, all.rank()) == 1);
    }));
  }
}

TEST_CASE("a rank without color is in no group, and pays nothing for it") {
  World world({.size = 3});
  check_all_well(world.run([](dtrain::Context& all) {
    const std::optional<dtrain::Context> group = all.split(all.rank() == 1 ? -1 : 7);
    CHECK(group.has_value() == (all.rank() != 1));
    if (group) CHECK(group->size() == 2);
    CHECK(sum_over(all, 1) == 3);
  }));
}

TEST_CASE("a list of ranks gives their order, and groups have groups") {
  World world({.size = 4});
  check_all_well(world.run([](dtrain::Context& all) {
    const std::array list = {3, 0, 2};
    std::optional<dtrain::Context> group = all.group(list);
    CHECK(group.has_value() == (all.rank() != 1));
    if (!group) return;
    CHECK(list[static_cast<size_t>(group->rank())] == all.rank());
    std::vector<int> gathered(3);
    const std::vector<int> own = {all.rank()};
    group->all_gather(own, gathered);
    CHECK(gathered == std::vector<int>(list.begin(), list.end()));
    std::optional<dtrain::Context> pair = group->split(group->rank() == 0 ? 1 : 0);
    REQUIRE(pair);
    CHECK(pair->size() == (all.rank() == 3 ? 1 : 2));
    CHECK(sum_over(*pair, all.rank()) == (all.rank() == 3 ? 3 : 2));
  }));
}

TEST_CASE("members make a group while the other ranks do nothing") {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    if (all.rank() == 3) return;
    std::optional<dtrain::Context> group;
    for (int i = 0; i < 3; ++i)
      group = all.group(std::array{2, 0, 1});
    CHECK(sum_over(*group, all.rank()) == 3);
    if (all.rank() == 2) return;
    std::optional<dtrain::Context> pair = group->group(std::array{1, 2});
    REQUIRE(pair);
    CHECK(pair->rank() == all.rank());
    CHECK(sum_over(*pair, all.rank() + 1) == 3);
  }));
}

TEST_CASE("lists that differ are an error on their ranks, and a time limit names the missing one") {
  World world({.size = 3});
  check_all_well(world.run([](dtrain::Context& all) {
    if (all.rank() < 2) {
      const std::vector<int> list = all.rank() == 0 ? std::vector{0, 1} : std::vector{1, 0};
      const RankOutcome outcome = World::outcome_of([&] { all.group(list); });
      CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
      CHECK(outcome.rank == 1);
      CHECK(outcome.text == "group: rank 0 gave [0, 1], rank 1 [1, 0]");
      const RankOutcome late = World::outcome_of([&] {
        all.group(std::array{0, 1, 2}, {.name = "late", .timeout = std::chrono::seconds(1)});
      });
      CHECK(late.code == DTRAIN_ERROR_TIMEOUT);
      CHECK(late.rank == 2);
      CHECK(contains(late.text, "rank 2 (host node0) has not arrived"));
    }
    CHECK(sum_over(all, 1) == 3);
  }));
}

TEST_CASE("collectives of several groups run side by side, in any order of the groups") {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    auto row = all.split(all.rank() / 2).value();
    auto column = all.split(all.rank() % 2).value();
    constexpr size_t count = 50000;
    std::vector<float> rows(count, 1);
    std::vector<float> columns(count, 2);
    std::vector<float> everything(count, 3);
    std::vector<dtrain::Work> works;
    // Half of the ranks start with the columns.
    if (all.rank() % 2 == 0) works.push_back(row.all_reduce_async(rows));
    works.push_back(column.all_reduce_async(columns));
    if (all.rank() % 2 != 0) works.push_back(row.all_reduce_async(rows));
    works.push_back(all.all_reduce_async(everything));
    for (dtrain::Work& work : works)
      work.wait();
    CHECK(rows == std::vector<float>(count, 2));
    CHECK(columns == std::vector<float>(count, 4));
    CHECK(everything == std::vector<float>(count, 12));
  }));
}

TEST_CASE("sends match within their group only") {
  World world({.size = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    auto reversed = all.split(0, -all.rank()).value();
    std::vector<int> first = {1};
    std::vector<int> second = {2};
    if (all.rank() == 0) {
      dtrain::Work one = all.send_async(first, 1);
      dtrain::Work two = reversed.send_async(second, 0);  // the same process
      one.wait();
      two.wait();
    } else {
      std::vector<int> got = {0};
      reversed.recv(got, 1);
      CHECK(got[0] == 2);
      all.recv(got, 0);
      CHECK(got[0] == 1);
    }
  }));
}

TEST_CASE("errors in a group name ranks of the job, and leave other groups alone") {
  World world({.size = 4});
  check_all_well(world.run([](dtrain::Context& all) {
    auto odd = all.split(all.rank() % 2).value();
    std::vector<float> values(all.rank() == 3 ? 2 : 1);
    const RankOutcome outcome = World::outcome_of([&] { odd.all_reduce(values); });
    if (all.rank() % 2 == 0) {
      CHECK(outcome.code == DTRAIN_OK);
    } else {
      CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
      CHECK(outcome.rank == 3);
      CHECK(contains(outcome.text, "rank 3 sent float32[2], rank 1 float32[1]"));
    }
    CHECK(sum_over(odd, 1) == 2);
  }));
}

TEST_CASE("a member that finalizes its group ends the others' operations of it, and no more") {
  World world({.size = 3});
  check_all_well(world.run([](dtrain::Context& all) {
    auto group = all.split(0).value();
    std::vector<int> values = {1};
    if (all.rank() == 2) {
      group.finalize();
    } else {
      const RankOutcome reduced = World::outcome_of([&] { group.all_reduce(values); });
      CHECK(reduced.code == DTRAIN_ERROR_PEER_LOST);
      CHECK(reduced.rank == 2);
      CHECK(contains(reduced.text, "rank 2 (host node0) has finalized the group"));
      const RankOutcome sent = World::outcome_of([&] { group.send(values, 2); });
      CHECK(sent.code == DTRAIN_ERROR_PEER_LOST);
      CHECK(contains(sent.text, "rank 2 (host node0) has finalized the group"));
    }
    CHECK(sum_over(all, 1) == 3);
    auto next = all.split(0).value();
    CHECK(sum_over(next, 2) == 6);
  }));
}

TEST_CASE("groups of one rank work, also where the job has only that") {
  Alone alone;
  dtrain_context* group = nullptr;
  dtrain_error error = new_error();
  REQUIRE(dtrain_split(alone.context, {3, 0}, &group, nullptr, &error) == DTRAIN_OK);
  CHECK(dtrain_size(group) == 1);
  float value = 5;
  CHECK(dtrain_all_reduce(group, {nullptr, &value, 1, DTRAIN_FLOAT32}, DTRAIN_SUM, nullptr,
                          &error) == DTRAIN_OK);
  CHECK(value == 5);
  dtrain_finalize(group);
}

TEST_CASE("wrong arguments are named, and no group is made") {
  Alone alone;
  struct Case {
    std::vector<int> ranks;
    const char* text;
  };
  const Case cases[] = {{{1}, "rank 1 is not one of the ranks 0 to 0"},
                        {{-1}, "rank -1 is not one of the ranks 0 to 0"},
                        {{0, 0}, "rank 0 is in the list twice"}};
  for (const Case& c : cases) {
    dtrain_context* group = alone.context;
    dtrain_error error = new_error();
    CHECK(dtrain_group(alone.context, {c.ranks.data(), static_cast<int>(c.ranks.size())}, &group,
                       nullptr, &error) == DTRAIN_ERROR_INPUT);
    CHECK(std::string(error.text) == c.text);
    CHECK(group == nullptr);
  }
  dtrain_error error = new_error();
  dtrain_context* group = nullptr;
  CHECK(dtrain_split(nullptr, {0, 0}, &group, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_split(alone.context, {0, 0}, nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_group(alone.context, {nullptr, 2}, &group, nullptr, &error) == DTRAIN_ERROR_INPUT);
}

}  // namespace
}  // namespace dt
