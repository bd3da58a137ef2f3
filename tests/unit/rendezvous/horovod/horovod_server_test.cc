#include "rendezvous/horovod/horovod_server.h"

#include "rendezvous/secure/dial.h"
#include "tests/unit/connected_to.h"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

namespace dt {
namespace {

using Counters = RendezvousServer::Counters;

RendezvousServer::Options answering(const std::vector<std::string>& sources) {
  RendezvousServer::Options options;
  options.horovod_sources = AddressSet(sources);
  return options;
}

/// A connection of one of Horovod's workers, or of a process that could be one.
class Worker {
 public:
  explicit Worker(const RendezvousFixture& server) : fd_(connected_to(server.address())) {}

  void send(std::string_view text) const {
    REQUIRE(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  explicit Worker(Fd connected) : fd_(std::move(connected)) {}

  /// Sends until the server stops reading and the kernel's buffers are full; returns the bytes
  /// sent.
  size_t send_until_full(const std::string& text, size_t bytes_max) const {
    size_t sent = 0;
    while (sent < bytes_max && await_readiness(fd_.get(), POLLOUT, Clock::now()).value()) {
      const ssize_t n = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n < 0) break;
      sent += static_cast<size_t>(n);
    }
    return sent;
  }
  /// Returns the bytes received up to `text`, or to the connection's end.
  std::string read_until(std::string_view text) {
    while (got_.find(text) == std::string::npos && receive()) {
    }
    return std::exchange(got_, {});
  }
  std::string read_all() {
    while (receive()) {
    }
    return std::exchange(got_, {});
  }
  std::string ask(std::string_view request, std::string_view until) {
    send(request);
    return read_until(until);
  }
  int fd() const { return fd_.get(); }
  void hang_up_sending() const { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  bool receive() {
    std::array<char, 4096> buffer;
    REQUIRE(await_readiness(fd_.get(), POLLIN, soon()).value());
    const ssize_t n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return false;
    got_.append(buffer.data(), static_cast<size_t>(n));
    return true;
  }

  Fd fd_;
  std::string got_;
};

std::string put(const std::string& path, const std::string& value) {
  return "PUT " + path + " HTTP/1.1\r\nContent-Length: " + std::to_string(value.size()) +
         "\r\n\r\n" + value;
}

constexpr std::string_view get_0 = "GET /global/0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
constexpr std::string_view absent = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view done = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

TEST_CASE("Horovod's workers meet on the listener on which tasks join") {
  RendezvousFixture server(table_of_workers(2), answering({"127.0.0.1"}));
  Worker first(server);
  CHECK(first.ask(get_0, "\r\n\r\n") == absent);
  CHECK(Worker(server).ask(put("/global/0", "addresses"), "\r\n\r\n") == done);
  // The same connection once more, and one for each request, as the real ones do.
  CHECK(first.ask(get_0, "addresses").ends_with("\r\n\r\naddresses"));
  CHECK(Worker(server).ask(get_0, "addresses").ends_with("\r\n\r\naddresses"));
  CHECK(Worker(server).ask("DELETE /global/0 HTTP/1.1\r\n\r\n", "\r\n\r\n") == done);
  CHECK(Worker(server).ask(get_0, "\r\n\r\n") == absent);
  CHECK(server.join_worker(0));
  const Counters counters = server.counters();
  CHECK(counters.horovod_requests == 6);
  CHECK(counters.rejected == 0);
  CHECK(server.log_text().find("warning") == std::string::npos);
}

TEST_CASE("a request may come byte by byte, and many may come at once") {
  const RendezvousFixture server(table_of_workers(1), answering({"127.0.0.1"}));
  Worker slow(server);
  for (const char c : put("/global/0", "v"))
    slow.send(std::string_view(&c, 1));
  CHECK(slow.read_until("\r\n\r\n") == done);
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += get_0;
  Worker pipelining(server);
  pipelining.send(many);
  pipelining.hang_up_sending();
  const std::string answers = pipelining.read_all();
  const std::string one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nv";
  CHECK(answers.size() == 1000 * one.size());
  CHECK(answers.starts_with(one + one));
}

TEST_CASE("a worker from no host of the job gets no answer, and one line is logged") {
  RendezvousFixture server(table_of_workers(1), answering({"10.1.2.3", "::1"}));
  CHECK(Worker(server).ask(get_0, "never").empty());
  CHECK(Worker(server).ask(get_0, "never").empty());
  server.until([](const Counters& counters) { return counters.rejected == 2; });
  CHECK(server.counters().horovod_requests == 0);
  CHECK(server.log_text().find("refused what may be a Horovod worker from 127.0.0.1") !=
        std::string::npos);
  CHECK(server.join_worker(0));
}

TEST_CASE("a connection that an agent relays needs no address") {
  RendezvousFixture server(table_of_workers(1), answering({}));
  auto [ours, theirs] = make_socketpair().value();
  for (const Fd* end : {&ours, &theirs})
    REQUIRE(set_nonblocking(end->get()));
  server.on_server([&theirs](RendezvousServer& it) { it.adopt(std::move(theirs), "node1"); });
  Worker worker(std::move(ours));
  CHECK(worker.ask(get_0, "\r\n\r\n") == absent);
}

TEST_CASE("workers are answered over IPv6, too") {
  if (!listen_on({"::1", 0})) return;  // a machine without it
  RendezvousServer::Options options = answering({"::1"});
  options.ip = "::1";
  const RendezvousFixture server(table_of_workers(1), options);
  CHECK(Worker(server).ask(get_0, "\r\n\r\n") == absent);
}

TEST_CASE("an IPv4 worker of a listener on all addresses is known by its IPv4 address") {
  if (!listen_on({"::1", 0})) return;
  RendezvousServer::Options options = answering({"127.0.0.1"});
  options.ip = "::ffff:127.0.0.1";
  const RendezvousFixture server(table_of_workers(1), options);
  CHECK(Worker(server).ask(get_0, "\r\n\r\n") == absent);
}

TEST_CASE("a connection without a whole request is closed after its time") {
  RendezvousServer::Options options = answering({"127.0.0.1"});
  options.handshake_timeout = seconds(1);
  RendezvousFixture server(table_of_workers(1), options);
  std::vector<Worker> workers;
  for (const std::string_view begun :
       {"G", "GET /global/0 HTTP/1.1\r\n", "PUT /s/0 HTTP/1.1\r\nContent-Length: 9\r\n\r\nx"}) {
    workers.emplace_back(server);
    workers.back().send(begun);
  }
  // One that was answered has the same time for its next request.
  workers.emplace_back(server);
  CHECK(workers.back().ask(get_0, "\r\n\r\n") == absent);
  for (Worker& worker : workers)
    CHECK(worker.read_all().empty());
  CHECK(server.join_worker(0));
}

TEST_CASE("no time passes for Horovod's workers while the job is paused") {
  RendezvousServer::Options options = answering({"127.0.0.1"});
  options.handshake_timeout = seconds(1);
  RendezvousFixture server(table_of_workers(1), options);
  Worker worker(server);
  worker.send("GET /global/0 HTT");
  server.until([](const Counters& counters) { return counters.pending == 0; });
  server.on_server([](RendezvousServer& it) { it.pause(); });
  CHECK(!await_readiness(worker.fd(), POLLIN, Clock::now() + milliseconds(1500)).value());
  CHECK(worker.ask("P/1.1\r\n\r\n", "\r\n\r\n") == absent);
  server.on_server([](RendezvousServer& it) { it.resume(); });
  CHECK(worker.read_all().empty());
}

TEST_CASE(
    "beyond the limit of connections the oldest is closed, so that new workers are answered") {
  RendezvousServer::Options options = answering({"127.0.0.1"});
  options.pending_max = 4;
  const RendezvousFixture server(table_of_workers(1), options);
  std::vector<Worker> idle;
  for (int i = 0; i < 20; ++i) {
    idle.emplace_back(server);
    CHECK(idle.back().ask(get_0, "\r\n\r\n") == absent);
  }
  CHECK(idle.front().read_all().empty());
  CHECK(idle.back().ask(get_0, "\r\n\r\n") == absent);
}

TEST_CASE("a client that reads no answers is not read, and holds little memory") {
  RendezvousServer::Options options = answering({"127.0.0.1"});
  RendezvousFixture server(table_of_workers(1), options);
  CHECK(Worker(server).ask(put("/global/0", std::string(60000, 'v')), "\r\n\r\n") == done);
  const Worker greedy(server);
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += get_0;
  constexpr size_t far_beyond = size_t{256} << 20;
  while (greedy.send_until_full(many, far_beyond) > 0 && server.counters().horovod_requests < 100) {
  }
  // The rest of its requests lie in its own kernel's buffers.
  const uint64_t answered = server.counters().horovod_requests;
  CHECK(answered < 1000);
  CHECK(Worker(server).ask(get_0, "v").find("Content-Length: 60000") != std::string::npos);
}

TEST_CASE("answers to one connection are limited per turn, and all come in the end") {
  const auto loop = must(Loop::create());
  Log log(Log::Level::quiet, [](std::string_view) {});
  HorovodServer server(*loop, {.sources = AddressSet(), .turn_bytes = 10'000}, log);
  const auto adopt = [&](const std::string& begun) {
    auto [ours, theirs] = make_socketpair().value();
    for (const Fd* end : {&ours, &theirs})
      REQUIRE(set_nonblocking(end->get()));
    REQUIRE(server.take(std::move(theirs), as_bytes(begun), HorovodServer::Origin::adopted));
    return std::move(ours);
  };
  const Fd putting = adopt(put("/global/0", std::string(1000, 'v')));
  REQUIRE(server.requests() == 1);
  std::string many;
  for (int i = 0; i < 50; ++i)
    many += get_0;
  const Fd asking = adopt(many);
  CHECK(server.requests() == 1 + 10);
  for (uint64_t before = 0; server.requests() != before;) {
    before = server.requests();
    REQUIRE(loop->run_once(Clock::now()));
    CHECK(server.requests() - before <= 10);
  }
  CHECK(server.requests() == 1 + 50);
}

TEST_CASE("a new generation begins with nothing") {
  RendezvousFixture server(table_of_workers(1), answering({"127.0.0.1"}));
  CHECK(Worker(server).ask(put("/global/0", "old"), "\r\n\r\n") == done);
  Worker waiting(server);
  CHECK(waiting.ask(get_0, "old").ends_with("old"));
  server.on_server([](RendezvousServer& it) { it.set_table(table_of_workers(2)); });
  CHECK(waiting.read_all().empty());
  CHECK(Worker(server).ask(get_0, "\r\n\r\n") == absent);
}

TEST_CASE("a new generation may have workers on other hosts") {
  RendezvousFixture server(table_of_workers(1), answering({"10.1.2.3"}));
  const auto replace = [&](const std::vector<std::string>& sources, uint32_t generation) {
    server.set_table(table_of_workers(1, 1, generation));
    server.on_server([&](RendezvousServer& it) { it.set_horovod_sources(AddressSet(sources)); });
  };
  CHECK(Worker(server).ask(get_0, "\r\n\r\n").empty());
  replace({"10.1.2.3", "127.0.0.1"}, 2);
  Worker known(server);
  CHECK(known.ask(get_0, "\r\n\r\n") == absent);
  // The next table keeps them, until they are replaced, too.
  server.set_table(table_of_workers(1, 1, 3));
  CHECK(known.read_all().empty());
  CHECK(Worker(server).ask(get_0, "\r\n\r\n") == absent);
  replace({"10.1.2.4"}, 4);
  CHECK(Worker(server).ask(get_0, "\r\n\r\n").empty());
}

}  // namespace
}  // namespace dt
