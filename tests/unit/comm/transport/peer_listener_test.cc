#include "comm/transport/peer_listener.h"

#include "base/crypto.h"
#include "base/io/socket.h"
#include "comm/transport/local_socket.h"
#include "tests/unit/connected_to.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

Claim claim_of_zero() {
  return {Token::random().value(), "job", 1, {"worker", 0}};
}

Result<> take_all(PeerHandshake& peer_handshake) {
  return peer_handshake.accept_peer({}, 0);
}

Fd connected_to(const PeerListener& listener) {
  return connected_to(listener.endpoint().tcp.at(0));
}

/// True once the other side has closed this connection; advances the listener meanwhile.
bool closed(PeerListener& listener, const Fd& socket, Time now = Clock::now()) {
  for (const Time end = Clock::now() + seconds(5); Clock::now() < end;) {
    if (!listener.advance(now, take_all)) return false;
    pollfd fd = {.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (poll(&fd, 1, 1) == 1) return true;
  }
  return false;
}

size_t watched(const PeerListener& listener) {
  std::vector<pollfd> fds;
  listener.collect_fds(fds);
  return fds.size();
}

TEST_CASE("a listener listens at its addresses, and nowhere else") {
  const PeerListener none = PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {}}).value();
  CHECK(none.endpoint() == PeerEndpoint());
  CHECK(watched(none) == 0);
  const PeerListener both =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1"}, .local = true})
          .value();
  CHECK(both.endpoint().tcp.at(0).ip == "127.0.0.1");
  CHECK(both.endpoint().tcp.at(0).port != 0);
  CHECK(connect_local(both.endpoint().local).has_value());
  const PeerListener other =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {}, .local = true}).value();
  CHECK(other.endpoint().local != both.endpoint().local);
}

TEST_CASE("a listener uses the port that is held for it, unless somebody else listens there") {
  const Fd held = hold_port(0).value();
  const uint16_t port = local_address(held.get()).value().port;
  const PeerListener::Options options = {
      .claim = claim_of_zero(), .tcp_ips = {"127.0.0.1", "127.0.0.2"}, .held_port = port};
  {
    const PeerListener listener = PeerListener::open(options).value();
    CHECK(listener.endpoint().tcp ==
          std::vector<Address>{{"127.0.0.1", port}, {"127.0.0.2", port}});
    const auto second = PeerListener::open(options);
    REQUIRE(!second);
    CHECK(second.error().message.find("port " + std::to_string(port)) != std::string::npos);
    CHECK(second.error().message.find("--port-range") != std::string::npos);
  }
  CHECK(PeerListener::open(options));
}

TEST_CASE("a listener with several addresses accepts at each") {
  PeerListener listener =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1", "127.0.0.2"}}).value();
  REQUIRE(listener.endpoint().tcp.size() == 2);
  CHECK(listener.endpoint().tcp[1].ip == "127.0.0.2");
  CHECK(watched(listener) == 2);
  std::vector<Fd> connections;
  for (const Address& address : listener.endpoint().tcp)
    connections.push_back(connected_to(address));
  for (int i = 0; i < 1000 && watched(listener) < 4; ++i) {
    REQUIRE(listener.advance(Clock::now(), [](PeerHandshake&) { return Result<>(); }).has_value());
    pollfd none = {};
    poll(&none, 0, 1);
  }
  CHECK(watched(listener) == 4);
}

TEST_CASE("a listener has queues for all peers, at one port") {
  const size_t queue = listen_queue_max();
  CHECK(PeerListener::sockets_for(0) == 1);
  CHECK(PeerListener::sockets_for(queue) == 1);
  CHECK(PeerListener::sockets_for(queue + 1) >= 2);
  const size_t sockets = PeerListener::sockets_for(10 * queue);
  CHECK(sockets == 20);
  const Fd held = hold_port(0).value();
  for (const uint16_t port : {uint16_t{0}, local_address(held.get()).value().port}) {
    CAPTURE(port);
    PeerListener listener = PeerListener::open({.claim = claim_of_zero(),
                                                .tcp_ips = {"127.0.0.1"},
                                                .held_port = port,
                                                .unaccepted_max = 10 * queue})
                                .value();
    REQUIRE(listener.endpoint().tcp.size() == 1);
    if (port != 0) CHECK(listener.endpoint().tcp[0].port == port);
    CHECK(watched(listener) == sockets);
    std::vector<Fd> connections;
    for (int i = 0; i < 50; ++i)
      connections.push_back(connected_to(listener));
    for (int i = 0; i < 1000 && watched(listener) < sockets + 50; ++i)
      REQUIRE(listener.advance(Clock::now(), take_all).has_value());
    CHECK(watched(listener) == sockets + 50);
  }
}

TEST_CASE("foreign connections are closed at their first wrong byte") {
  for (const std::string& first :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x01"),
        std::string("SSH-2.0-x\r\n"), std::string(4, '\0')}) {
    CAPTURE(first);
    PeerListener listener =
        PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1"}}).value();
    const Fd foreign = connected_to(listener);
    REQUIRE(send(foreign.get(), first.data(), first.size(), MSG_NOSIGNAL) > 0);
    CHECK(closed(listener, foreign));
    CHECK(watched(listener) == 1);
  }
}

TEST_CASE("a silent foreign connection is closed at its deadline") {
  PeerListener listener =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1"}}).value();
  CHECK(listener.next_deadline() == Time::max());
  const Fd foreign = connected_to(listener);
  const Time now = Clock::now();
  REQUIRE(listener.advance(now, take_all).has_value());
  CHECK(watched(listener) == 2);
  CHECK(listener.next_deadline() == now + seconds(5));
  CHECK(closed(listener, foreign, now + seconds(5)));
  CHECK(watched(listener) == 1);
}

TEST_CASE("beyond the bound the oldest foreign connection is closed") {
  PeerListener listener =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1"}, .pending_max = 2})
          .value();
  std::vector<Fd> foreigners;
  for (int i = 0; i < 2; ++i)
    foreigners.push_back(connected_to(listener));
  REQUIRE(listener.advance(Clock::now(), take_all).has_value());
  const Fd third = connected_to(listener);
  CHECK(closed(listener, foreigners.front()));
  CHECK(watched(listener) == 3);
  for (const Fd* kept : {static_cast<const Fd*>(&foreigners.back()), &third}) {
    pollfd fd = {.fd = kept->get(), .events = POLLIN, .revents = 0};
    CHECK(poll(&fd, 1, 0) == 0);
  }
}

/// A peer at a listener's local socket that has not sent a byte yet.
std::unique_ptr<PeerHandshake> local_dialer(const PeerListener& listener, const Claim& claim) {
  Fd socket = connect_local(listener.endpoint().local).value();
  const int fd = socket.get();
  return PeerHandshake::dial(std::move(socket), claim.self,
                             {.claim = {claim.token, claim.job, claim.generation, {"worker", 1}},
                              .deadline = Time::max(),
                              .local = true,
                              .passed_fds = {fd},
                              .passed_fds_expected = 1})
      .value();
}

Result<> take_with_gift(PeerHandshake& peer_handshake) {
  return peer_handshake.accept_peer({peer_handshake.fd()}, 1);
}

TEST_CASE(
    "foreign connections displace no peer at the local socket, nor one that has proved itself") {
  const Claim claim = claim_of_zero();
  PeerListener listener =
      PeerListener::open(
          {.claim = claim, .tcp_ips = {"127.0.0.1"}, .local = true, .pending_max = 3})
          .value();
  const auto proved = local_dialer(listener, claim);
  const auto silent = local_dialer(listener, claim);
  const Time now = Clock::now();
  REQUIRE(proved->advance().has_value());
  REQUIRE(listener.advance(now, take_with_gift).has_value());
  REQUIRE(proved->advance().has_value());
  REQUIRE(listener.advance(now, take_with_gift).value().empty());
  const Fd first = connected_to(listener);
  REQUIRE(listener.advance(now, take_with_gift).value().empty());
  const Fd second = connected_to(listener);
  CHECK(closed(listener, first, now));
  const auto third_peer = local_dialer(listener, claim);
  CHECK(closed(listener, second, now));
  const Fd third = connected_to(listener);
  CHECK(closed(listener, third, now));
  CHECK(silent->advance().has_value());
  CHECK(third_peer->advance().has_value());
  REQUIRE(proved->advance().has_value());
  REQUIRE(proved->done());
  CHECK(listener.advance(now, take_with_gift).value().size() == 1);
}

TEST_CASE("a peer that was accepted in time and is done counts, however late that is seen") {
  const Claim claim = claim_of_zero();
  PeerListener listener =
      PeerListener::open({.claim = claim, .tcp_ips = {}, .local = true}).value();
  const auto dialer = local_dialer(listener, claim);
  const Time now = Clock::now();
  REQUIRE(dialer->advance().has_value());
  REQUIRE(listener.advance(now, take_with_gift).has_value());
  REQUIRE(dialer->advance().has_value());
  REQUIRE(listener.advance(now, take_with_gift).value().empty());
  REQUIRE(dialer->advance().has_value());
  REQUIRE(dialer->done());
  CHECK(listener.advance(now + seconds(60), take_with_gift).value().size() == 1);
}

TEST_CASE("a proof that has arrived is accepted however late it is read: its peer waits") {
  const Claim claim = claim_of_zero();
  PeerListener listener =
      PeerListener::open({.claim = claim, .tcp_ips = {}, .local = true}).value();
  const auto dialer = local_dialer(listener, claim);
  const Time now = Clock::now();
  REQUIRE(dialer->advance().has_value());
  REQUIRE(listener.advance(now, take_with_gift).has_value());
  CHECK(!dialer->committed());
  REQUIRE(dialer->advance().has_value());
  CHECK(dialer->committed());
  CHECK(listener.advance(now + seconds(60), take_with_gift).value().empty());
  // The peer has its verdict. From here on only its descriptors are missing, and no time limit.
  CHECK(listener.next_deadline() == Time::max());
  CHECK(listener.advance(now + seconds(90), take_with_gift).value().empty());
  REQUIRE(dialer->advance().has_value());
  CHECK(dialer->done());
  CHECK(listener.advance(now + seconds(120), take_with_gift).value().size() == 1);
}

TEST_CASE("a listener reads only from the connections on which poll has reported something") {
  const Claim claim = claim_of_zero();
  PeerListener listener =
      PeerListener::open({.claim = claim, .tcp_ips = {}, .local = true}).value();
  const auto dialer = local_dialer(listener, claim);
  const Time now = Clock::now();
  REQUIRE(dialer->advance().has_value());
  REQUIRE(listener.advance(now, take_with_gift).has_value());
  std::vector<pollfd> fds;
  listener.collect_fds(fds);
  listener.take_events(fds);
  REQUIRE(dialer->advance().has_value());
  REQUIRE(listener.advance(now, take_with_gift).has_value());
  // The proof is unread, so there is no verdict.
  REQUIRE(dialer->advance().has_value());
  CHECK(!dialer->done());
  fds.back().revents = POLLIN;
  listener.take_events(fds);
  REQUIRE(listener.advance(now, take_with_gift).has_value());
  REQUIRE(dialer->advance().has_value());
  CHECK(dialer->done());
}

TEST_CASE("without descriptors a listener pauses, and then accepts the connections that wait") {
  PeerListener listener =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1"}}).value();
  const Fd waiting = connected_to(listener);
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  const Time now = Clock::now();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const bool advanced = listener.advance(now, take_all).has_value();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(advanced);
  CHECK(watched(listener) == 0);
  const Time open_again = listener.next_deadline();
  CHECK(open_again > now);
  CHECK(open_again <= now + seconds(1));
  REQUIRE(listener.advance(open_again, take_all).has_value());
  CHECK(watched(listener) == 2);
}

TEST_CASE("a listener accepts a limited number at once, and the others in the next round") {
  PeerListener listener =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1"}}).value();
  std::vector<Fd> foreigners;
  for (int i = 0; i < 70; ++i)
    foreigners.push_back(connected_to(listener));
  REQUIRE(listener.advance(Clock::now(), take_all).has_value());
  CHECK(watched(listener) == 65);
  REQUIRE(listener.advance(Clock::now(), take_all).has_value());
  CHECK(watched(listener) == 71);
}

TEST_CASE("the limit of a round holds for all addresses of a listener together") {
  PeerListener listener =
      PeerListener::open({.claim = claim_of_zero(), .tcp_ips = {"127.0.0.1", "127.0.0.2"}}).value();
  std::vector<Fd> foreigners;
  for (int i = 0; i < 40; ++i) {
    for (const Address& address : listener.endpoint().tcp)
      foreigners.push_back(connected_to(address));
  }
  REQUIRE(listener.advance(Clock::now(), take_all).has_value());
  CHECK(watched(listener) == 2 + 64);
}

}  // namespace
}  // namespace dt
