#include "rendezvous/store/store.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

const Time store_start = Time() + seconds(1000);

/// A Store whose clients 1, 2, … are worker:0, worker:1, …
class StoreBench {
 public:
  explicit StoreBench(int tasks, int joined, StoreLimits limits = {})
      : store(table_of_workers(tasks), limits) {
    for (int i = 0; i < joined; ++i)
      REQUIRE(store.join(static_cast<ClientId>(i + 1), {"worker", i}, 100 + i));
  }

  /// The reply to this request if it came at once.
  std::optional<Reply> ask(ClientId client, Request request, Time now = store_start) {
    const uint32_t id = ++last_id;
    store.handle(client, id, std::move(request), now);
    collect();
    return reply_to(client, id);
  }
  /// The error of a request that fails at once.
  Error error_of(ClientId client, Request request) {
    return ask(client, std::move(request)).value_or(Reply()).error.value_or(Error{});
  }
  /// The reply to this client's request, by now.
  std::optional<Reply> reply_to(ClientId client, uint32_t id) {
    collect();
    for (const Delivery& delivery : all) {
      if (delivery.request != id || delivery.clients.front() != client) continue;
      if (const Reply* reply = std::get_if<Reply>(&delivery.message)) return *reply;
      if (const auto* shared = std::get_if<SharedReply>(&delivery.message)) {
        return decode_reply(*shared->encoded).value();
      }
    }
    return std::nullopt;
  }
  std::vector<Notice> notices_for(ClientId client) {
    collect();
    std::vector<Notice> notices;
    for (const Delivery& delivery : all) {
      const Notice* notice = std::get_if<Notice>(&delivery.message);
      if (notice == nullptr) continue;
      if (std::ranges::count(delivery.clients, client) > 0) notices.push_back(*notice);
    }
    return notices;
  }
  void collect() {
    for (Delivery& delivery : store.take_deliveries())
      all.push_back(std::move(delivery));
  }

  Store store;
  uint32_t last_id = 0;
  std::vector<Delivery> all;
};

Request set_of(std::string key, std::string_view value, Lifetime lifetime = Lifetime::job) {
  return SetRequest{std::move(key), to_bytes(value), lifetime};
}

Reply failed(Errc code, std::string message) {
  return {.error = Error{code, std::move(message)}};
}

TEST_CASE("a key holds what was set last, until it is erased") {
  StoreBench bench(1, 1);
  CHECK(bench.ask(1, GetRequest{"k"}) == Reply{});
  CHECK(bench.ask(1, set_of("k", "a")) == Reply{});
  CHECK(bench.ask(1, set_of("k", "b")) == Reply{});
  CHECK(bench.ask(1, GetRequest{"k"}) == Reply{.value = to_bytes("b")});
  CHECK(bench.ask(1, EraseRequest{"k"}) == Reply{.number = 1});
  CHECK(bench.ask(1, EraseRequest{"k"}) == Reply{.number = 0});
  CHECK(bench.ask(1, GetRequest{"k"}) == Reply{});
}

TEST_CASE("add counts in decimal and refuses what is no number or no longer fits") {
  StoreBench bench(1, 1);
  CHECK(bench.ask(1, AddRequest{"n", 5}) == Reply{.number = 5});
  CHECK(bench.ask(1, AddRequest{"n", -8}) == Reply{.number = -3});
  CHECK(bench.ask(1, GetRequest{"n"}) == Reply{.value = to_bytes("-3")});
  CHECK(bench.ask(1, AddRequest{"n", INT64_MIN}) ==
        failed(Errc::input, "'n' would overflow 64 bits"));
  bench.ask(1, set_of("text", "four"));
  CHECK(bench.ask(1, AddRequest{"text", 1}) ==
        failed(Errc::input, "'text' holds no decimal number to add to: 'four'"));
}

TEST_CASE("compare-and-set changes only what is as expected, else it returns the value") {
  StoreBench bench(1, 1);
  const auto swap = [&](std::optional<Bytes> expected, std::string_view value) {
    return bench.ask(1, CompareAndSetRequest{"k", std::move(expected), to_bytes(value)});
  };
  CHECK(swap(to_bytes("x"), "a") == Reply{});
  CHECK(swap(std::nullopt, "a") == Reply{.number = 1});
  CHECK(swap(std::nullopt, "a") == Reply{.value = to_bytes("a")});
  CHECK(swap(to_bytes("x"), "b") == Reply{.value = to_bytes("a")});
  CHECK(swap(to_bytes("a"), "b") == Reply{.number = 1});
  CHECK(bench.ask(1, GetRequest{"k"}) == Reply{.value = to_bytes("b")});
}

TEST_CASE("every request that names a key refuses an empty or too long one") {
  const std::string long_key(key_bytes_max + 1, 'k');
  const Bytes value = to_bytes("1");
  for (const std::string& key : {std::string(), long_key}) {
    const Request requests[] = {SetRequest{key, value, Lifetime::job},
                                GetRequest{key},
                                WaitRequest{key, seconds(1)},
                                AddRequest{key, 1},
                                CompareAndSetRequest{key, std::nullopt, value},
                                EraseRequest{key}};
    for (const Request& request : requests) {
      CAPTURE(request.index());
      StoreBench bench(1, 1);
      CHECK(bench.error_of(1, request) == check_key(key).error());
    }
  }
  StoreBench bench(1, 1);
  CHECK(bench.error_of(1, CollectRequest{long_key, 0, {}}) == check_key(long_key).error());
}

TEST_CASE("values, keys and the job's bytes have bounds, each named when it is exceeded") {
  StoreBench bench(1, 1, {.keys = 2, .bytes = 20});
  const Bytes too_big(value_bytes_max + 1);
  CHECK(bench.error_of(1, SetRequest{"k", too_big, Lifetime::job}) ==
        check_value("k", too_big).error());
  CHECK(bench.ask(1, set_of("a", "123456789")) == Reply{});
  CHECK(bench.ask(1, set_of("b", "1234567890")) ==
        failed(Errc::refused,
               "cannot set 'b': the job's values would take 21 bytes, at most 20 are allowed"));
  CHECK(bench.ask(1, set_of("b", "123456789")) == Reply{});
  CHECK(bench.ask(1, set_of("c", "")) ==
        failed(Errc::refused, "cannot set 'c': the job has 2 keys, the most there may be"));
  // Only growth counts: a shorter value, and then a key in the place of another.
  CHECK(bench.ask(1, set_of("a", "1")) == Reply{});
  bench.ask(1, EraseRequest{"b"});
  CHECK(bench.ask(1, set_of("c", "12345678901234567")) == Reply{});
  CHECK(bench.error_of(1, AddRequest{"a", 99}).code == Errc::refused);
}

TEST_CASE("a wait is answered by the set, or at its deadline with the key's name") {
  StoreBench bench(2, 2);
  CHECK(!bench.ask(1, WaitRequest{"k", seconds(2)}));
  const uint32_t first = bench.last_id;
  CHECK(!bench.ask(1, WaitRequest{"other", seconds(1)}));
  const uint32_t second = bench.last_id;
  CHECK(bench.store.next_deadline() == store_start + seconds(1));
  bench.store.expire(store_start + seconds(1) - Duration(1));
  CHECK(!bench.reply_to(1, second));
  bench.store.expire(store_start + seconds(1));
  CHECK(bench.reply_to(1, second) == failed(Errc::timeout, "timed out waiting for key 'other'"));
  CHECK(!bench.reply_to(1, first));
  bench.ask(2, set_of("k", "v"));
  CHECK(bench.reply_to(1, first) == Reply{});
  CHECK(bench.store.next_deadline() == Time::max());
  CHECK(bench.ask(1, WaitRequest{"k", Duration::zero()}) == Reply{});
}

TEST_CASE("messages name the keys of programs as these have given them") {
  StoreBench bench(1, 1, {.keys = 1});
  bench.ask(1, set_of("store/text", "four"));
  CHECK(bench.ask(1, AddRequest{"store/text", 1}) ==
        failed(Errc::input, "'text' holds no decimal number to add to: 'four'"));
  CHECK(bench.ask(1, set_of("store/more", "")) ==
        failed(Errc::refused, "cannot set 'more': the job has 1 keys, the most there may be"));
  CHECK(!bench.ask(1, WaitRequest{"store/more", seconds(1)}));
  bench.store.expire(store_start + seconds(1));
  CHECK(bench.reply_to(1, bench.last_id) ==
        failed(Errc::timeout, "timed out waiting for key 'more'"));
  CHECK(shown_key("storeroom") == "storeroom");
}

TEST_CASE("a pause gives every wait as much longer") {
  StoreBench bench(1, 1);
  CHECK(!bench.ask(1, WaitRequest{"early", seconds(1)}));
  CHECK(!bench.ask(1, WaitRequest{"late", seconds(2)}));
  const uint32_t late = bench.last_id;
  bench.store.postpone(seconds(60));
  CHECK(bench.store.next_deadline() == store_start + seconds(61));
  bench.store.expire(store_start + seconds(61));
  CHECK(!bench.reply_to(1, late));
  CHECK(bench.store.next_deadline() == store_start + seconds(62));
  bench.ask(1, set_of("late", "v"));
  CHECK(bench.reply_to(1, late) == Reply{});
  CHECK(bench.store.next_deadline() == Time::max());
}

TEST_CASE("the waits of one client are bounded") {
  StoreBench bench(2, 2, {.waits_per_client = 2});
  CHECK(!bench.ask(1, WaitRequest{"a", seconds(1)}));
  CHECK(!bench.ask(1, WaitRequest{"b", seconds(1)}));
  CHECK(bench.ask(1, WaitRequest{"c", seconds(1)}) ==
        failed(Errc::refused, "cannot wait for 'c': 2 waits are the most for one client"));
  CHECK(!bench.ask(2, WaitRequest{"c", seconds(1)}));
}

TEST_CASE("an ephemeral key ends with the client that set it last") {
  StoreBench bench(2, 2);
  bench.ask(1, set_of("mine", "1", Lifetime::connection));
  bench.ask(1, set_of("taken", "1", Lifetime::connection));
  bench.ask(1, set_of("kept", "1", Lifetime::connection));
  bench.ask(2, set_of("taken", "2", Lifetime::connection));
  bench.ask(2, set_of("kept", "2", Lifetime::job));
  bench.ask(2, AddRequest{"mine", 1});
  bench.store.disconnect(1);
  CHECK(bench.ask(2, GetRequest{"mine"}) == Reply{});
  CHECK(bench.ask(2, GetRequest{"taken"}) == Reply{.value = to_bytes("2")});
  CHECK(bench.ask(2, GetRequest{"kept"}) == Reply{.value = to_bytes("2")});
}

Reply collected(const std::vector<StoreEntry>& entries) {
  return {.value = encode(entries)};
}

TEST_CASE("keys with a prefix are collected in one reply, when as many as wanted exist") {
  StoreBench bench(2, 2);
  const CollectRequest both{"a/", 2, seconds(9)};
  bench.ask(1, set_of("a/2", "y"));
  bench.ask(1, set_of("b/1", "-"));
  CHECK(!bench.ask(1, both));
  const uint32_t first = bench.last_id;
  CHECK(!bench.ask(2, both));
  const uint32_t second = bench.last_id;
  // A key that is set again counts once.
  bench.ask(1, set_of("a/2", "z"));
  CHECK(!bench.reply_to(1, first));
  bench.ask(2, set_of("a/1", "x"));
  const Reply list = collected({{"a/1", to_bytes("x")}, {"a/2", to_bytes("z")}});
  CHECK(bench.reply_to(1, first) == list);
  CHECK(bench.reply_to(2, second) == list);
  CHECK(bench.ask(1, both) == list);
  CHECK(bench.store.next_deadline() == Time::max());
}

TEST_CASE("a collection that is incomplete at its deadline has the keys that exist") {
  StoreBench bench(1, 1);
  CHECK(!bench.ask(1, CollectRequest{"a/", 2, seconds(9)}));
  const uint32_t id = bench.last_id;
  bench.ask(1, set_of("a/1", "x"));
  bench.store.postpone(seconds(1));
  CHECK(bench.store.next_deadline() == store_start + seconds(10));
  bench.store.expire(store_start + seconds(9));
  CHECK(!bench.reply_to(1, id));
  bench.store.expire(store_start + seconds(10));
  CHECK(bench.reply_to(1, id) == collected({{"a/1", to_bytes("x")}}));
  CHECK(bench.ask(1, CollectRequest{"", 0, {}}) == collected({{"a/1", to_bytes("x")}}));
}

TEST_CASE("a key that ends with its client is missing again") {
  StoreBench bench(3, 3);
  bench.ask(1, set_of("a/1", "x", Lifetime::connection));
  CHECK(!bench.ask(2, CollectRequest{"a/", 2, seconds(9)}));
  const uint32_t id = bench.last_id;
  CHECK(!bench.ask(1, CollectRequest{"a/", 2, seconds(9)}));
  bench.store.disconnect(1);
  bench.ask(3, set_of("a/3", "z"));
  CHECK(!bench.reply_to(2, id));
  bench.ask(3, set_of("a/1", "x"));
  CHECK(bench.reply_to(2, id).has_value());
}

TEST_CASE("collections have the bounds of waits, of keys and of one reply") {
  StoreBench bench(1, 1, {.waits_per_client = 2});
  CHECK(!bench.ask(1, WaitRequest{"never", seconds(9)}));
  CHECK(!bench.ask(1, CollectRequest{"a/", 1, seconds(9)}));
  CHECK(bench.error_of(1, CollectRequest{"a/", 1, seconds(9)}) ==
        Error{Errc::refused, "cannot wait for 'a/': 2 waits are the most for one client"});
  CHECK(bench.error_of(1, WaitRequest{"never", seconds(9)}).code == Errc::refused);
  const std::string long_prefix(key_bytes_max + 1, 'k');
  CHECK(bench.error_of(1, CollectRequest{long_prefix, 0, {}}) == check_key(long_prefix).error());
  const std::string half(value_bytes_max, 'v');
  for (size_t i = 0; i < collected_bytes_max / value_bytes_max; ++i)
    bench.ask(1, set_of(std::to_string(i), half));
  CHECK(bench.error_of(1, CollectRequest{"", 0, {}}) ==
        Error{Errc::refused,
              "cannot collect '': its keys and values have more than 8388608 bytes, "
              "the most in one reply"});
}

TEST_CASE("a thousand ranks find each other by two requests each, and one list") {
  constexpr int ranks = 1000;
  StoreBench bench(ranks, ranks);
  const Request all = CollectRequest{"listen/", ranks, seconds(300)};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto client = static_cast<ClientId>(rank + 1);
    // The size of a real endpoint: an address, and the name of a local socket.
    bench.store.handle(
        client, 1,
        set_of("listen/worker/" + std::to_string(rank), std::string(70, 'e'), Lifetime::connection),
        store_start);
    bench.store.handle(client, 2, all, store_start);
  }
  bench.collect();
  size_t replies = 0;
  size_t bytes = 0;
  std::set<const Bytes*> lists;
  for (const Delivery& delivery : bench.all) {
    replies += delivery.clients.size();
    if (const auto* shared = std::get_if<SharedReply>(&delivery.message)) {
      lists.insert(shared->encoded.get());
      bytes += shared->encoded->size();
    }
  }
  CHECK(replies == 2 * ranks);
  CHECK(lists.size() == 1);
  CHECK(bytes < size_t{100'000} * ranks);
  CHECK(bench.store.next_deadline() == Time::max());
}

TEST_CASE("a task is joined once; a second claim and one outside the table are refused by name") {
  Store store(table_of_workers(4));
  REQUIRE(store.join(1, {"worker", 3}, 77));
  struct Case {
    TaskId task;
    const char* message;
  };
  const Case cases[] = {
      {{"worker", 3}, "worker:3 already joined (pid 77); second claim from pid 91"},
      {{"worker", 4}, "worker:4 is not a task of this job, which has 4 workers"},
      {{"worker", -1}, "worker:-1 is not a task of this job, which has 4 workers"},
      {{"ps", 0}, "ps:0 is not a task of this job, which has 4 workers"},
      {{"launcher", 0}, "launcher:0 is not a task of this job, which has 4 workers"},
      {{"a\x1b[31m", 0}, "a\\x1B[31m:0 is not a task of this job, which has 4 workers"}};
  for (const Case& c : cases)
    CHECK(store.join(2, c.task, 91).error() == Error{Errc::refused, c.message});
  CHECK(store.join(2, {"worker", 3}, 77).error().message ==
        "worker:3 already joined, with the same pid 77; use the first context of dtrain_init");
  CHECK(store.membership().joined() == 1);
  // Once its connection has ended, the task may come again.
  store.disconnect(1);
  CHECK(store.membership().state({"worker", 3}) == Membership::State::absent);
  CHECK(store.join(3, {"worker", 3}, 91));
}

TEST_CASE("the dead and left are sent once to all, kept for later ones, and may not join") {
  StoreBench bench(4, 2);
  const Notice death{Notice::Kind::dead, {"worker", 2}, "exit status 3"};
  const Notice leaving{Notice::Kind::left, {"worker", 3}, ""};
  bench.store.note(death);
  bench.store.note(leaving);
  bench.store.note({Notice::Kind::left, {"worker", 2}, ""});
  bench.store.note({Notice::Kind::dead, {"worker", 9}, "of another job"});
  const std::vector<Notice> notices = {death, leaving};
  CHECK(bench.notices_for(1) == notices);
  CHECK(bench.notices_for(2) == notices);
  CHECK(decode_welcome(bench.store.welcome(1, seconds(5)))->gone == notices);
  CHECK(bench.store.join(9, {"worker", 2}, 5).error().message ==
        "worker:2 (host node2) died: exit status 3, so pid 5 cannot join as it");
  CHECK(bench.store.join(9, {"worker", 3}, 5).error().message ==
        "worker:3 (host node3) has left, so pid 5 cannot join as it");
  // Its connection ends after the notice of its death: it is still dead.
  bench.store.note({Notice::Kind::dead, {"worker", 0}, "killed by SIGKILL"});
  bench.store.disconnect(1);
  CHECK(bench.store.membership().state({"worker", 0}) == Membership::State::dead);
}

TEST_CASE(
    "a restarted task joins as its next attempt, and the attempt before can do nothing more") {
  StoreBench bench(3, 3);
  const Notice death{Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL", 1, true};
  const Notice restart{Notice::Kind::restarted, {"worker", 1}, "", 2};
  bench.store.note(restart);  // it has not died
  bench.store.note(death);
  CHECK(bench.store.join(9, {"worker", 1}, 5, 2).error().message ==
        "worker:1 is at attempt 1, so pid 5 cannot join as its attempt 2");
  bench.store.note(restart);
  bench.store.note(restart);
  CHECK(bench.notices_for(1) == std::vector<Notice>{death, restart});
  CHECK(bench.error_of(2, SetRequest{"k", to_bytes("late"), {}}) ==
        Error{Errc::refused, "attempt 1 of worker:1 has ended, and attempt 2 has begun"});
  CHECK(bench.store.join(9, {"worker", 1}, 5).error() ==
        Error{Errc::refused, "worker:1 is at attempt 2, so pid 5 cannot join as its attempt 1"});
  REQUIRE(bench.store.join(10, {"worker", 1}, 6, 2));
  CHECK(bench.ask(10, SetRequest{"k", to_bytes("v"), {}})->error == std::nullopt);
  CHECK(decode_welcome(bench.store.welcome(10, seconds(5)))->gone ==
        std::vector<Notice>{death, restart});
  // The old connection ends late: the new one keeps the task.
  bench.store.disconnect(2);
  CHECK(bench.store.membership().state({"worker", 1}) == Membership::State::joined);
  CHECK(bench.store.membership().pid_of({"worker", 1}) == 6);
}

TEST_CASE("of many attempts of a task, a later client learns of the first death and the last one") {
  StoreBench bench(3, 1);
  const Notice other{Notice::Kind::left, {"worker", 2}, ""};
  const auto death = [](uint32_t attempt) {
    return Notice{Notice::Kind::dead, {"worker", 1}, "exit status 0", attempt, true};
  };
  const auto restart = [](uint32_t attempt) {
    return Notice{Notice::Kind::restarted, {"worker", 1}, "", attempt};
  };
  bench.store.note(death(1));
  bench.store.note(other);
  for (uint32_t attempt = 2; attempt < 100; ++attempt) {
    bench.store.note(restart(attempt));
    bench.store.note(death(attempt));
  }
  CHECK(bench.notices_for(1).size() == 2 + 2 * 98);
  bench.store.note(restart(100));
  CHECK(bench.store.membership().gone() == std::vector<Notice>{death(1), other, restart(100)});
}

TEST_CASE("a dead task that was to return may lose its return, once") {
  StoreBench bench(2, 1);
  const Notice death{Notice::Kind::dead, {"worker", 1}, "exit status 3", 1, true};
  Notice final = death;
  final.returns = false;
  for (const Notice& notice : {death, death, final, death, final})
    bench.store.note(notice);
  CHECK(bench.notices_for(1) == std::vector<Notice>{death, final});
}

}  // namespace
}  // namespace dt
