#include "comm/include/dtrain/dtrain.hpp"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;
using dtrain::OpOptions;
using dtrain::Store;
using std::chrono::milliseconds;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

dtrain_error new_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  return error;
}

const OpOptions at_once = {.timeout = milliseconds(1)};
const OpOptions in_time = {.timeout = std::chrono::seconds(30)};
const std::string big(size_t{1} << 20, 'x');

/// Runs `body` with the store of a rank that is alone, and with that of a job of one rank.
void on_both_stores(const std::function<void(Store)>& body) {
  Context alone = dtrain::init();
  body(alone.store());
  World world({.size = 1, .per_host = 1});
  check_all_well(world.run([&](Context& context) { body(context.store()); }));
}

TEST_CASE("a key holds what was set last, as bytes, until it is erased") {
  on_both_stores([](Store store) {
    const std::string bytes("a\0b\n", 4);
    CHECK(store.get("k") == std::nullopt);
    store.set("k", bytes);
    CHECK(store.get("k") == bytes);
    CHECK(store.wait("k") == bytes);
    store.set("k", "");
    CHECK(store.get("k") == "");
    CHECK(store.erase("k"));
    CHECK(!store.erase("k"));
    CHECK(store.get("k") == std::nullopt);
    store.set("big", big, in_time);
    CHECK(store.get("big", in_time) == big);
  });
}

TEST_CASE("add counts, and compare_and_set says what it has found") {
  on_both_stores([](Store store) {
    CHECK(store.add("n", 5) == 5);
    CHECK(store.add("n", -7) == -2);
    CHECK(store.get("n") == "-2");
    const auto absent = store.compare_and_set("c", "x", "1");
    CHECK((!absent.done && absent.held == std::nullopt));
    const auto first = store.compare_and_set("c", std::nullopt, "1");
    CHECK((first.done && first.held == std::nullopt));
    const auto second = store.compare_and_set("c", std::nullopt, "1");
    CHECK((!second.done && second.held == "1"));
    CHECK(store.compare_and_set("c", "1", "").done);
    CHECK(store.compare_and_set("c", "", "2").done);
  });
}

TEST_CASE("what the store refuses is named, and the store stays usable") {
  on_both_stores([](Store store) {
    store.set("text", "four");
    struct Case {
      std::function<void()> call;
      const char* text;
    };
    const std::string longest(250, 'k');
    const Case cases[] = {
        {[&] { store.set("", "v"); }, "a key must not be empty"},
        {[&] { store.get(longest + "k"); }, "has 251 bytes, at most 250 are allowed"},
        {[&] { store.get(std::string("a\0b", 3)); }, "must not contain a NUL"},
        {[&] { store.set("k", big + "x"); },
         "the value of 'k' has 1048577 bytes, at most 1048576 are allowed"},
        {[&] { store.compare_and_set("k", big + "x", ""); }, "has 1048577 bytes"},
        {[&] { store.add("text", 1); }, "'text' holds no decimal number to add to: 'four'"},
        {[&] { store.get("k", {.timeout = milliseconds(-1)}); }, "timeout_ms is negative"}};
    for (const Case& c : cases) {
      CAPTURE(c.text);
      const RankOutcome outcome = World::outcome_of(c.call);
      CHECK(outcome.code == DTRAIN_ERROR_INPUT);
      CHECK_MESSAGE(contains(outcome.text, c.text), outcome.text);
    }
    store.set(longest, "v");
    CHECK(store.wait(longest) == "v");
  });
}

TEST_CASE("a wait ends in time with the key's name") {
  on_both_stores([](Store store) {
    const RankOutcome late = World::outcome_of(
        [&] { store.wait("never", {.name = "first", .timeout = milliseconds(30)}); });
    CHECK(late.code == DTRAIN_ERROR_TIMEOUT);
    CHECK(late.text == "\"first\": timed out waiting for key 'never'");
    CHECK(World::outcome_of([&] { store.wait("never", at_once); }).code == DTRAIN_ERROR_TIMEOUT);
    store.set("never", "now");
    CHECK(store.wait("never", in_time) == "now");
  });
}

TEST_CASE("a wait ends when another thread sets the key") {
  on_both_stores([](Store store) {
    for (int i = 0; i < 100; ++i) {
      const std::string key = "k" + std::to_string(i);
      std::thread setter([&] { store.set(key, "v"); });
      CHECK(store.wait(key, in_time) == "v");
      setter.join();
    }
  });
}

TEST_CASE("many threads of a rank may wait for one large value") {
  on_both_stores([](Store store) {
    std::vector<std::thread> waiters;
    for (int i = 0; i < 40; ++i)
      waiters.emplace_back([&] { CHECK(store.wait("blob", in_time) == big); });
    store.set("blob", big, in_time);
    for (std::thread& waiter : waiters)
      waiter.join();
  });
}

TEST_CASE("ranks exchange values, count together, and one of them is first") {
  World world({.size = 4, .per_host = 2});
  std::mutex mutex;
  std::vector<int64_t> sums;
  int first = 0;
  check_all_well(world.run([&](Context& context) {
    Store store = context.store();
    const std::string mine = std::to_string(context.rank());
    store.set("rank/" + mine, std::string(200'000, mine[0]));
    for (int from = 0; from < context.size(); ++from) {
      const std::string other = std::to_string(from);
      CHECK(store.wait("rank/" + other, in_time) == std::string(200'000, other[0]));
    }
    const bool done = store.compare_and_set("first", std::nullopt, "the same of all").done;
    for (int i = 0; i < 100; ++i) {
      const int64_t sum = store.add("count", 1);
      const std::lock_guard lock(mutex);
      sums.push_back(sum);
    }
    const std::lock_guard lock(mutex);
    first += done ? 1 : 0;
  }));
  CHECK(first == 1);
  std::ranges::sort(sums);
  REQUIRE(sums.size() == 400);
  CHECK(std::ranges::adjacent_find(sums) == sums.end());
  CHECK(sums.back() == 400);
}

TEST_CASE("the store serves several threads of a rank while collectives run") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    std::vector<std::thread> users;
    for (int thread = 0; thread < 3; ++thread) {
      users.emplace_back([&, thread] {
        Store store = context.store();
        const std::string key =
            "own/" + std::to_string(context.rank()) + "/" + std::to_string(thread);
        const std::string value(300'000, static_cast<char>('a' + thread));
        for (int i = 0; i < 20; ++i) {
          store.set(key, value);
          CHECK(store.get(key) == value);
        }
      });
    }
    for (int i = 0; i < 100; ++i) {
      std::vector<int> values(5000, 1);
      context.all_reduce(values);
      CHECK(values.back() == 3);
    }
    for (std::thread& user : users)
      user.join();
  }));
}

TEST_CASE("a request that timed out is sent to its end, and may be carried out") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([&](Context& context) {
    Store store = context.store();
    if (context.rank() == 0) store.set("k", big);
    context.barrier();
    const std::string other(big.size(), 'y');
    if (context.rank() == 0) {
      std::latch held(1);
      std::latch release(1);
      std::thread holder([&] {
        world.server().on_server([&](RendezvousServer&) {
          held.count_down();
          release.wait();
        });
      });
      held.wait();
      const RankOutcome late =
          World::outcome_of([&] { store.compare_and_set("k", big, other, at_once); });
      CHECK(late.code == DTRAIN_ERROR_TIMEOUT);
      CHECK(late.text == "compare and set 'k': the rendezvous has not answered in time");
      release.count_down();
      holder.join();
    } else {
      for (const Time end = soon(); store.get("k", in_time) != other && Clock::now() < end;) {
      }
      CHECK(store.get("k", in_time) == other);
    }
    context.barrier();
  }));
}

TEST_CASE("a death ends the waits for keys, and nothing else of the store") {
  World world({.size = 3, .per_host = 3});
  std::latch joined(3);
  check_all_well(world.run([&](Context& context) {
    Store store = context.store();
    // No rank may be in an operation when another one dies.
    joined.arrive_and_wait();
    if (context.rank() == 0) {
      store.set("there", "v");
      world.server().notify({Notice::Kind::dead, {"worker", 2}, "killed by SIGKILL"});
    }
    if (context.rank() == 2) return;
    for (int i = 0; i < 2; ++i) {
      const RankOutcome told = World::outcome_of([&] { store.wait("never"); });
      CHECK(told.code == DTRAIN_ERROR_PEER_LOST);
      CHECK(told.rank == 2);
      CHECK(told.text == "wait for 'never': rank 2 (host node0) died: killed by SIGKILL");
    }
    CHECK(store.wait("there") == "v");
    CHECK(store.add("after", 1) > 0);
  }));
}

TEST_CASE("a rank that leaves ends no wait") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([&](Context& context) {
    Store store = context.store();
    if (context.rank() == 1) return;
    world.server().until([](const auto& counters) { return counters.joined == 1; });
    world.server().notify({Notice::Kind::left, {"worker", 1}, ""});
    const RankOutcome late =
        World::outcome_of([&] { store.wait("never", {.timeout = milliseconds(100)}); });
    CHECK(late.code == DTRAIN_ERROR_TIMEOUT);
  }));
}

TEST_CASE("without the launcher every call fails, now and later") {
  World world({.size = 2, .per_host = 2});
  std::latch joined(2);
  check_all_well(world.run([&](Context& context) {
    Store store = context.store();
    joined.arrive_and_wait();
    std::thread stopper([&] {
      if (context.rank() == 0) world.server().stop();
    });
    const RankOutcome waited = World::outcome_of([&] { store.wait("never"); });
    CHECK(waited.code == DTRAIN_ERROR_PEER_LOST);
    CHECK_MESSAGE(waited.text.starts_with("wait for 'never': "), waited.text);
    // The other rank may have lost it first and have announced it; then ours is lost soon.
    RankOutcome later;
    for (const Time end = soon(); later.code == DTRAIN_OK && Clock::now() < end;)
      later = World::outcome_of([&] { store.set("k", "v"); });
    CHECK(later.code == DTRAIN_ERROR_PEER_LOST);
    CHECK(later.text == "set 'k': launcher lost");
    CHECK(World::outcome_of([&] { store.get("k"); }).text == "get 'k': launcher lost");
    stopper.join();
  }));
}

TEST_CASE("what C callers leave out is named, and what they need not have may be left out") {
  const Context alone = dtrain::init();
  dtrain_context* c = alone.get();
  dtrain_error error = new_error();
  CHECK(dtrain_store_set(nullptr, "k", {}, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "the context is NULL"));
  CHECK(dtrain_store_set(c, nullptr, {}, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "the key is NULL"));
  CHECK(dtrain_store_set(c, "k", {nullptr, 1}, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "dtrain_bytes.data is NULL, and size is 1"));
  CHECK(dtrain_store_get(c, "k", nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_store_add(c, "k", nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_store_compare_and_set(c, "k", nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "the pointer to the exchange is NULL"));
  CHECK(dtrain_store_set(c, "k", {nullptr, 0}, nullptr, nullptr) == DTRAIN_OK);
  CHECK(dtrain_store_wait(c, "k", nullptr, nullptr, nullptr) == DTRAIN_OK);
  CHECK(dtrain_store_erase(c, "k", nullptr, nullptr, nullptr) == DTRAIN_OK);
  CHECK(dtrain_value_data(nullptr) == nullptr);
  CHECK(dtrain_value_size(nullptr) == 0);
  dtrain_value_free(nullptr);
}

TEST_CASE("a value outlives its context, with a NUL behind it") {
  dtrain_context* alone = dtrain_init(nullptr, nullptr);
  REQUIRE(alone != nullptr);
  CHECK(dtrain_store_set(alone, "k", {"abc", 3}, nullptr, nullptr) == DTRAIN_OK);
  dtrain_value* value = nullptr;
  CHECK(dtrain_store_get(alone, "k", &value, nullptr, nullptr) == DTRAIN_OK);
  dtrain_finalize(alone);
  CHECK(std::string(static_cast<const char*>(dtrain_value_data(value))) == "abc");
  CHECK(dtrain_value_size(value) == 3);
  dtrain_value_free(value);
}

TEST_CASE("a forked child cannot use its parent's store") {
  const Context alone = dtrain::init();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dtrain_value* value = nullptr;
    _exit(dtrain_store_get(alone.get(), "k", &value, nullptr, nullptr) == DTRAIN_ERROR_INPUT ? 0
                                                                                             : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace dt
