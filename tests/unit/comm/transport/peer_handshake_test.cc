#include "comm/transport/peer_handshake.h"

#include "base/crypto.h"
#include "base/io/socket.h"
#include "comm/transport/doorbell.h"
#include "comm/transport/local_socket.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace dt {
namespace {

const TaskId zero = {"worker", 0};
const TaskId one = {"worker", 1};

/// One side of a handshake as the test drives it.
struct Side {
  std::unique_ptr<PeerHandshake> peer_handshake;
  Result<> last = {};
};

struct Both {
  Side dialer;
  Side acceptor;
};

struct Sockets {
  Fd dialer;
  Fd acceptor;
};

Sockets local_sockets() {
  const std::string name = "dtrain-test-" + random_name(16).value();
  const Fd listener = listen_local(name).value();
  Fd dialer = connect_local(name).value();
  return {std::move(dialer), accept_one(listener.get()).value()};
}

Sockets tcp_sockets() {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  Fd dialer = start_connect(local_address(listener.get()).value()).value();
  pollfd fd = {.fd = listener.get(), .events = POLLIN, .revents = 0};
  REQUIRE(poll(&fd, 1, 60'000) == 1);
  return {std::move(dialer), accept_one(listener.get()).value()};
}

struct Tokens {
  Token dialer = Token::random().value();
  Token acceptor = dialer;
};

Both start(Sockets sockets, bool local, const Tokens& tokens, std::vector<int> passed_fds = {}) {
  const Time deadline = Clock::now() + seconds(30);
  PeerHandshake::Options dial{
      .claim = {tokens.dialer, "job", 1, one}, .deadline = deadline, .local = local};
  dial.passed_fds = std::move(passed_fds);
  dial.passed_fds_expected = dial.passed_fds.size();
  PeerHandshake::Options accept{
      .claim = {tokens.acceptor, "job", 1, zero}, .deadline = deadline, .local = local};
  return {{PeerHandshake::dial(std::move(sockets.dialer), zero, std::move(dial)).value()},
          {PeerHandshake::accept(std::move(sockets.acceptor), std::move(accept)).value()}};
}

/// Advances both sides until `enough`, or until one has failed.
void advance(Both& both, const std::function<bool()>& enough) {
  const Time end = Clock::now() + seconds(10);
  while (!enough() && both.dialer.last && both.acceptor.last && Clock::now() < end) {
    for (Side* side : {&both.dialer, &both.acceptor}) {
      pollfd fd = {
          .fd = side->peer_handshake->fd(), .events = side->peer_handshake->events(), .revents = 0};
      if (poll(&fd, 1, 1) == 1 && side->last && !side->peer_handshake->proved()) {
        side->last = side->peer_handshake->advance();
      }
    }
  }
}

TEST_CASE("two tasks with one token complete a handshake over TCP and share a session") {
  Both both = start(tcp_sockets(), false, Tokens());
  advance(both, [&] { return both.acceptor.peer_handshake->proved(); });
  REQUIRE(both.acceptor.peer_handshake->proved());
  CHECK(both.acceptor.peer_handshake->peer() == one);
  REQUIRE(both.acceptor.peer_handshake->accept_peer({}, 0).has_value());
  CHECK(both.acceptor.peer_handshake->done());
  // The acceptor may speak at once; what comes with its verdict is left for the link.
  AuthenticatedConnection acceptor = both.acceptor.peer_handshake->take();
  REQUIRE(send(acceptor.socket.get(), "early", 5, 0) == 5);
  advance(both, [&] { return both.dialer.peer_handshake->done(); });
  REQUIRE(both.dialer.peer_handshake->done());
  AuthenticatedConnection dialer = both.dialer.peer_handshake->take();
  pollfd fd = {.fd = dialer.socket.get(), .events = POLLIN, .revents = 0};
  REQUIRE(poll(&fd, 1, 60'000) == 1);
  char got[8] = {};
  CHECK(recv(dialer.socket.get(), got, sizeof got, 0) == 5);
  CHECK(std::string(got) == "early");
  Bytes sealed;
  dialer.handshake.session().seal(sealed, {.type = 1}, as_bytes("hi"));
  size_t used = 0;
  CHECK(acceptor.handshake.session().open(sealed, &used).value().has_value());
}

TEST_CASE("a handshake on a local socket ends with both sides' descriptors") {
  const Fd bell = make_doorbell().value();
  Both both = start(local_sockets(), true, Tokens(), {bell.get()});
  advance(both, [&] { return both.acceptor.peer_handshake->proved(); });
  REQUIRE(both.acceptor.peer_handshake->accept_peer({bell.get()}, 1).has_value());
  advance(both, [&] {
    return both.dialer.peer_handshake->done() && both.acceptor.peer_handshake->done();
  });
  CHECK(both.dialer.peer_handshake->take().passed_fds.size() == 1);
  CHECK(both.acceptor.peer_handshake->take().passed_fds.size() == 1);
}

TEST_CASE("another number of descriptors than expected is an error") {
  const Fd bell = make_doorbell().value();
  Both both = start(local_sockets(), true, Tokens(), {bell.get()});
  advance(both, [&] { return both.acceptor.peer_handshake->proved(); });
  REQUIRE(both.acceptor.peer_handshake->accept_peer({bell.get()}, 2).has_value());
  advance(both, [] { return false; });
  CHECK(both.acceptor.last.error().code == Errc::protocol);
}

TEST_CASE("the dialer of a peer with another token gets an error that says so") {
  Both both = start(tcp_sockets(), false, {.acceptor = Token::random().value()});
  advance(both, [&] { return both.acceptor.peer_handshake->proved(); });
  REQUIRE(!both.dialer.last);
  CHECK(both.dialer.last.error().code == Errc::refused);
  CHECK(both.dialer.last.error().message.find("token") != std::string::npos);
}

TEST_CASE("a dialer learns why it was refused") {
  Both both = start(tcp_sockets(), false, Tokens());
  advance(both, [&] { return both.acceptor.peer_handshake->proved(); });
  both.acceptor.peer_handshake->refuse_peer("not today");
  advance(both, [] { return false; });
  REQUIRE(!both.dialer.last);
  CHECK(both.dialer.last.error() == Error{Errc::refused, "not today"});
}

TEST_CASE("a peer that nobody listens for cannot be reached") {
  uint16_t port = 0;
  {
    const Fd listener = listen_on({"127.0.0.1", 0}).value();
    port = local_address(listener.get()).value().port;
  }
  Result<Fd> socket = start_connect({"127.0.0.1", port});
  if (!socket) return;  // refused at once
  const auto peer_handshake =
      PeerHandshake::dial(
          *std::move(socket), zero,
          {.claim = {Token::random().value(), "job", 1, one}, .deadline = Time::max()})
          .value();
  pollfd fd = {.fd = peer_handshake->fd(), .events = peer_handshake->events(), .revents = 0};
  REQUIRE(poll(&fd, 1, 60'000) == 1);
  CHECK(peer_handshake->advance().error().code == Errc::unreachable);
}

}  // namespace
}  // namespace dt
