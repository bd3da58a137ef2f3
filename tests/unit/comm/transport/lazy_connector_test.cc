#include "comm/transport/lazy_connector.h"

#include "base/crypto.h"
#include "base/io/socket.h"
#include "comm/transport/doorbell.h"
#include "tests/unit/connected_to.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

TaskEntry task(int rank) {
  return {.id = {"worker", rank}, .rank = rank, .agent = rank, .host = "a"};
}

/// One rank of two, with its link to the other one, in a time that the test makes.
struct Node {
  Node(int rank, const Token& token, size_t pending_max = 128)
      : self(task(rank)), bell(make_doorbell().value()) {
    const Claim claim = {token, "job", 1, self.id};
    PeerListener listener =
        PeerListener::open({.claim = claim, .tcp_ips = {"127.0.0.1"}, .pending_max = pending_max})
            .value();
    endpoint = listener.endpoint();
    connector = std::make_unique<LazyConnector>(
        LazyConnector::Options{
            .claim = claim, .self = self, .peers = 1, .wake = duplicate(bell.get()).value()},
        std::move(listener));
  }
  void add(const Node& peer) { socket = connector->add(7, peer.self, peer.endpoint); }
  bool rung() const {
    pollfd fd = {.fd = bell.get(), .events = POLLIN, .revents = 0};
    return poll(&fd, 1, 0) == 1;
  }
  /// One round, as in the mesh.
  void step(Time now) {
    std::vector<pollfd> fds;
    connector->collect_fds(fds);
    REQUIRE(poll(fds.data(), fds.size(), 0) >= 0);
    connector->take_events(fds);
    const std::vector<size_t> numbers = connector->advance(now).value();
    opened.insert(opened.end(), numbers.begin(), numbers.end());
  }
  bool connected() const { return socket->connected().value(); }

  TaskEntry self;
  Fd bell;
  PeerEndpoint endpoint;
  std::unique_ptr<LazyConnector> connector;
  std::shared_ptr<TcpSocket> socket;
  std::vector<size_t> opened;
};

struct Pair {
  explicit Pair(size_t pending_max = 128)
      : zero(0, token, pending_max), one(1, token, pending_max) {
    zero.add(one);
    one.add(zero);
  }
  /// Lets both connect. The time stands still, so that no second attempt begins.
  void settle() {
    for (const Time end = Clock::now() + seconds(10);
         !(zero.connected() && one.connected()) && Clock::now() < end;) {
      zero.step(now);
      one.step(now);
    }
    REQUIRE(zero.connected());
    REQUIRE(one.connected());
  }

  Token token = Token::random().value();
  Time now = Time(seconds(100));
  Node zero;
  Node one;
};

/// Sends a sealed frame over the sockets.
void check_linked(TcpSocket& from, TcpSocket& to) {
  Bytes sealed;
  from.session()->seal(sealed, {.type = 1}, as_bytes("hi"));
  REQUIRE(send(from.get(), sealed.data(), sealed.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(sealed.size()));
  pollfd fd = {.fd = to.get(), .events = POLLIN, .revents = 0};
  REQUIRE(poll(&fd, 1, 60'000) == 1);
  Bytes got(sealed.size() + 1);
  got.resize(static_cast<size_t>(std::max<ssize_t>(recv(to.get(), got.data(), got.size(), 0), 0)));
  size_t used = 0;
  CHECK(to.session()->open(got, &used).value().has_value());
}

void check_linked(const Pair& pair) {
  check_linked(*pair.zero.socket, *pair.one.socket);
  check_linked(*pair.one.socket, *pair.zero.socket);
  CHECK(pair.zero.opened == std::vector<size_t>{7});
  CHECK(pair.one.opened == std::vector<size_t>{7});
}

TEST_CASE("a link connects when either end uses it first, and not before") {
  for (const int first : {0, 1}) {
    CAPTURE(first);
    Pair pair;
    Node& user = first == 0 ? pair.zero : pair.one;
    for (int i = 0; i < 5; ++i) {
      pair.zero.step(pair.now);
      pair.one.step(pair.now);
    }
    CHECK(!pair.zero.connector->active());
    CHECK(!pair.zero.connected());
    user.socket->connect();
    CHECK(user.connector->asked());
    CHECK(user.rung());
    pair.settle();
    check_linked(pair);
    CHECK(!user.connector->active());
    CHECK(!user.connector->asked());
  }
}

TEST_CASE("two ranks that dial each other at once get one link") {
  // One rank takes some steps before the other one sees anything; then they take turns.
  for (const bool zero_leads : {false, true}) {
    for (int lead = 0; lead < 12; ++lead) {
      for (int turn = 0; turn < 12; ++turn) {
        CAPTURE(zero_leads);
        CAPTURE(lead);
        CAPTURE(turn);
        Pair pair;
        Node& leader = zero_leads ? pair.zero : pair.one;
        Node& other = zero_leads ? pair.one : pair.zero;
        leader.socket->connect();
        for (int i = 0; i < lead; ++i)
          leader.step(pair.now);
        other.socket->connect();
        for (int i = 0; i < turn; ++i)
          other.step(pair.now);
        pair.settle();
        check_linked(pair);
      }
    }
  }
}

TEST_CASE("both ranks may have the proof of the other one; then the higher one's dial counts") {
  Pair pair;
  pair.zero.socket->connect();
  pair.one.socket->connect();
  // Each takes events of its own dial alone, so that both get a challenge and send a proof.
  const auto accept_only = [&](Node& node) {
    const std::vector<size_t> none = node.connector->advance(pair.now).value();
    CHECK(none.empty());
  };
  for (int round = 0; round < 2; ++round) {
    accept_only(pair.zero);
    accept_only(pair.one);
  }
  pair.settle();
  check_linked(pair);
}

/// Steps one rank through time until its link has failed.
Error failure_of(Node& node, Time now) {
  for (int i = 0; i < 1000; ++i) {
    node.step(now);
    if (const Result<bool> connected = node.socket->connected(); !connected)
      return connected.error();
    now += milliseconds(10);
  }
  return {};
}

TEST_CASE("a link to a rank that has ended fails, with its address") {
  Pair pair;
  pair.zero.connector.reset();
  pair.one.socket->connect();
  const Error error = failure_of(pair.one, pair.now);
  CHECK(error.code == Errc::timeout);
  CHECK(error.message.starts_with("cannot connect to " + pair.zero.endpoint.tcp.at(0).text()));
  CHECK(!pair.one.connector->active());
}

TEST_CASE("a link that its rank has closed does not connect any more") {
  Pair pair;
  pair.zero.socket->close();
  pair.one.socket->connect();
  for (int i = 0; i < 2000 && pair.one.socket->connected(); ++i) {
    pair.zero.step(pair.now);
    pair.one.step(pair.now);
    pair.now += milliseconds(5);
  }
  REQUIRE(!pair.one.socket->connected());
  CHECK(pair.one.socket->connected().error().message.find("expects no connection") !=
        std::string::npos);
  CHECK(pair.zero.opened.empty());
}

TEST_CASE("foreign connections after the join do not keep a peer out") {
  Pair pair(4);
  std::vector<Fd> foreigners;
  const auto flood = [&] {
    for (int i = 0; i < 10; ++i)
      foreigners.push_back(connected_to(pair.zero.endpoint.tcp.at(0)));
    pair.zero.step(pair.now);
  };
  flood();
  CHECK(pair.zero.connector->active());
  pair.one.socket->connect();
  pair.settle();
  check_linked(pair);
  flood();
  // No foreigner is served for longer than its time.
  pair.now += seconds(6);
  for (int i = 0; i < 10; ++i) {
    pair.zero.step(pair.now);
    pair.now += seconds(6);
  }
  CHECK(!pair.zero.connector->active());
}

TEST_CASE("a rank of the job that is no peer here is refused") {
  Pair pair;
  Node stranger(2, pair.token);
  stranger.add(pair.zero);
  stranger.socket->connect();
  for (int i = 0; i < 2000 && stranger.socket->connected(); ++i) {
    pair.zero.step(pair.now);
    stranger.step(pair.now);
    pair.now += milliseconds(5);
  }
  CHECK(!stranger.socket->connected());
  CHECK(pair.zero.opened.empty());
}

}  // namespace
}  // namespace dt
