#include "rendezvous/horovod/horovod_store.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

constexpr size_t much = size_t{1} << 20;

std::string put(const std::string& path, const std::string& value) {
  return "PUT " + path +
         " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(value.size()) +
         "\r\n\r\n" + value;
}
std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n";
}
std::string connected(const std::string& path) {
  return "DELETE " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n";
}

/// The store's answers to whole requests: "200:value 404: 200:".
std::string ask(HorovodStore& store, const std::string& requests) {
  Bytes out;
  const auto served = store.serve(as_bytes(requests), out, much);
  CHECK(served.used == requests.size());
  std::string text(as_text(out));
  std::string statuses;
  while (!text.empty()) {
    const size_t head_end = text.find("\r\n\r\n");
    const size_t length_at = text.find("Content-Length: ");
    REQUIRE(head_end != std::string::npos);
    const size_t length = std::stoul(text.substr(length_at + 16));
    statuses +=
        (statuses.empty() ? "" : " ") + text.substr(9, 3) + ":" + text.substr(head_end + 4, length);
    text.erase(0, head_end + 4 + length);
  }
  return statuses;
}

TEST_CASE("a value is found under its scope and key, and what is not there is 404") {
  HorovodStore store({});
  CHECK(ask(store, get("/global/rank_0")) == "404:");
  CHECK(ask(store, put("/global/rank_0", "node1")) == "200:");
  CHECK(ask(store, put("/global/0", std::string("a\0b", 3))) == "200:");
  CHECK(ask(store, get("/global/rank_0")) == "200:node1");
  CHECK(ask(store, get("/global/0")) == "200:" + std::string("a\0b", 3));
  CHECK(ask(store, get("/local_node1/0")) == "404:");
  CHECK(ask(store, put("/global/0", "new")) == "200:");
  CHECK(ask(store, get("/global/0")) == "200:new");
  CHECK(ask(store, put("/local_::1%eth0_process_set_hash_a5/0", "x")) == "200:");
  CHECK(ask(store, get("/local_::1%eth0_process_set_hash_a5/0")) == "200:x");
  CHECK(store.requests() == 10);
}

TEST_CASE("a scope is forgotten when all ranks that have put their addresses have connected") {
  HorovodStore store({});
  CHECK(ask(store, put("/global/rank_0", "a") + put("/global/rank_1", "b") + put("/global/0", "A") +
                       put("/global/1", "B") + put("/local_a/0", "L")) ==
        "200: 200: 200: 200: 200:");
  CHECK(ask(store, connected("/global/1")) == "200:");
  CHECK(ask(store, get("/global/1") + get("/global/rank_0")) == "200:B 200:a");
  // A rank that reports twice is still one of two.
  CHECK(ask(store, connected("/global/1")) == "200:");
  CHECK(ask(store, get("/global/0")) == "200:A");
  CHECK(ask(store, connected("/global/0")) == "200:");
  CHECK(ask(store, get("/global/0") + get("/global/rank_1") + get("/local_a/0")) ==
        "404: 404: 200:L");
  CHECK(ask(store, connected("/local_a/0")) == "200:");
  CHECK(store.keys() == 0);
  CHECK(store.bytes() == 0);
}

TEST_CASE("the same group can meet again, also when a rank is early") {
  HorovodStore store({});
  ask(store, put("/global/0", "A") + put("/global/1", "B"));
  ask(store, connected("/global/0") + put("/global/0", "A2"));
  CHECK(ask(store, connected("/global/1") + get("/global/0")) == "200: 200:A2");
  CHECK(ask(store, put("/global/1", "B2") + connected("/global/1") + connected("/global/0")) ==
        "200: 200: 200:");
  CHECK(store.keys() == 0);
}

TEST_CASE("a connection to an unknown group changes nothing") {
  HorovodStore store({});
  ask(store, put("/global/rank_0", "a") + put("/global/0", "A"));
  CHECK(ask(store, connected("/global/7") + connected("/none/0") + connected("/global/rank_0")) ==
        "200: 200: 200:");
  CHECK(ask(store, get("/global/0") + get("/global/rank_0")) == "200:A 200:a");
}

TEST_CASE("requests that come together are answered in order; half a one waits") {
  HorovodStore store({});
  const std::string half = "PUT /s/1 HTTP/1.1\r\nContent-Length: 5\r\n\r\nab";
  const std::string all = put("/s/0", "x") + get("/s/0") + get("/s/1") + half;
  Bytes out;
  const auto served = store.serve(as_bytes(all), out, much);
  CHECK(served.used == all.size() - half.size());
  CHECK(!served.close);
  CHECK(ask(store, half + "cde" + get("/s/1")) == "200: 200:abcde");
}

TEST_CASE("answers stop at the limit of the connection, and continue from there") {
  HorovodStore store({});
  ask(store, put("/s/0", std::string(1000, 'v')));
  std::string left = get("/s/0") + get("/s/0") + get("/s/0");
  for (const int expected : {2, 1, 0}) {
    Bytes out;
    const auto served = store.serve(as_bytes(left), out, 1500);
    CHECK(out.size() / 1000 == static_cast<size_t>(expected));
    left.erase(0, served.used);
  }
  CHECK(left.empty());
}

TEST_CASE("a connection is closed when its client wants that, or cannot be understood") {
  HorovodStore store({.value_bytes = 10});
  struct Row {
    std::string request;
    std::string answer;
    bool close;
  };
  const Row rows[] = {{"GET /s/0 HTTP/1.1\r\nConnection: close\r\n\r\n" + get("/s/0"), "404", true},
                      {"GET /s/0 HTTP/1.0\r\n\r\n", "404", true},
                      {"nonsense\r\n\r\n" + get("/s/0"), "400", true},
                      {put("/s/0", "eleven byte"), "413", true},
                      {"POST /s/0 HTTP/1.1\r\n\r\n", "405", false},
                      {get("/s"), "400", false},
                      {get("/"), "400", false},
                      {get("s/0"), "400", false},
                      {get("//0"), "400", false},
                      {get("/s/"), "400", false},
                      {get("/s/0/1"), "400", false}};
  for (const Row& row : rows) {
    CAPTURE(row.request);
    Bytes out;
    const auto served = store.serve(as_bytes(row.request), out, much);
    CHECK(served.close == row.close);
    const std::string text(as_text(out));
    CHECK(text.starts_with("HTTP/1.1 " + row.answer));
    CHECK(text.find("HTTP/1.1", 1) == std::string::npos);
    CHECK((text.find("Connection: close\r\n") != std::string::npos) == row.close);
  }
  CHECK(store.keys() == 0);
}

TEST_CASE("a value beyond the limits is refused, and what was there stays") {
  HorovodStore store({.keys = 4, .bytes = 20, .value_bytes = 100});
  CHECK(ask(store, put("/s/0", "v")) == "200:");
  CHECK(store.keys() == 2);
  CHECK(store.bytes() == 3);
  CHECK(!store.was_full());
  CHECK(ask(store, put("/s/0", std::string(19, 'v'))) == "507:");
  CHECK(store.was_full());
  CHECK(ask(store, get("/s/0")) == "200:v");
  CHECK(ask(store, put("/s/0", std::string(18, 'v'))) == "200:");
  CHECK(ask(store, put("/s/1", "")) == "507:");
  CHECK(ask(store, put("/s/0", "") + put("/s/1", "") + put("/s/2", "")) == "200: 200: 200:");
  CHECK(ask(store, put("/s/3", "")) == "507:");
  CHECK(ask(store, put("/t/0", "")) == "507:");
  CHECK(ask(store, get("/s/3") + get("/t/0")) == "404: 404:");
  // Room comes back with the end of a group.
  CHECK(ask(store, connected("/s/0") + connected("/s/1") + connected("/s/2")) == "200: 200: 200:");
  CHECK(ask(store, put("/t/0", "") + put("/t/1", "") + put("/t/2", "")) == "200: 200: 200:");
}

TEST_CASE("the limits of a job hold what its ranks put at once") {
  for (const size_t ranks : {size_t{1}, size_t{32}, size_t{1024}}) {
    CAPTURE(ranks);
    const HorovodLimits limits = HorovodLimits::for_ranks(ranks);
    // All ranks, those of a host and those of a local rank. An address of gloo has 140 bytes or so.
    CHECK(limits.value_bytes >= 150 * ranks);
    CHECK(limits.bytes >= 2 * ranks * (150 * ranks));
    CHECK(limits.keys >= 3 * (2 * ranks + ranks));
  }
}

}  // namespace
}  // namespace dt
