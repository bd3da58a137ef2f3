#include "comm/transport/peer_dial.h"

#include "base/crypto.h"
#include "base/io/open_files.h"
#include "base/io/socket.h"
#include "comm/transport/peer_listener.h"
#include "tests/unit/connected_to.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

const TaskId zero = {"worker", 0};
const TaskId one = {"worker", 1};

Address nobody() {
  const Fd gone = listen_on({"127.0.0.1", 0}).value();
  return local_address(gone.get()).value();
}

/// A dial of rank 0 by rank 1, in a time that the test makes.
struct Dial {
  explicit Dial(std::vector<Address> addresses, const Token& token = Token::random().value(),
                bool same_host = true)
      : dial({.claim = {token, "job", 1, one},
              .peer = zero,
              .addresses = std::move(addresses),
              .same_host = same_host,
              .dead_after = seconds(5)},
             now) {}
  auto advance() {
    pollfd fd = {.fd = dial.fd(), .events = dial.events(), .revents = 0};
    return dial.advance(now, poll(&fd, 1, 0) > 0);
  }
  /// Waits until the kernel has an answer for the attempt.
  void answered() const {
    pollfd fd = {.fd = dial.fd(), .events = dial.events(), .revents = 0};
    REQUIRE(poll(&fd, 1, 60'000) == 1);
  }

  Time now = Time(seconds(100));
  PeerDial dial;
};

/// A listener whose queue is full, so that its system drops the packets of further connections.
struct FullQueue {
  FullQueue() {
    // A second call of listen(2) changes the length of the queue.
    REQUIRE(listen(listener.get(), 1) == 0);
    for (int i = 0; i < 2; ++i)
      waiting.push_back(connected_to(address));
  }

  Fd listener = listen_on({"127.0.0.1", 0}).value();
  Address address = local_address(listener.get()).value();
  std::vector<Fd> waiting;
};

TEST_CASE("a dial finds the reachable one of a peer's addresses") {
  const Token token = Token::random().value();
  PeerListener listener =
      PeerListener::open({.claim = {token, "job", 1, zero}, .tcp_ips = {"127.0.0.1"}}).value();
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  Dial one_peer({nobody(), local_address(silent.get()).value(), listener.endpoint().tcp.at(0)},
                token);
  std::unique_ptr<AuthenticatedConnection> connection;
  for (int i = 0; i < 1000 && !connection; ++i) {
    connection = one_peer.advance().value();
    REQUIRE(listener.advance(
        Clock::now(), [](PeerHandshake& handshake) { return handshake.accept_peer({}, 0); }));
    one_peer.now += milliseconds(10);
  }
  REQUIRE(connection);
  CHECK(connection->handshake.peer() == zero);
}

TEST_CASE("a dial to a system where nobody listens ends after two seconds, with the reason") {
  const Address address = nobody();
  Dial refused({address});
  const Time start = refused.now;
  Result<std::unique_ptr<AuthenticatedConnection>> advanced = refused.advance();
  while (advanced && refused.now < start + seconds(10)) {
    if (refused.dial.fd() >= 0) refused.answered();
    refused.now += milliseconds(10);
    advanced = refused.advance();
  }
  REQUIRE(!advanced);
  CHECK(advanced.error().code == Errc::timeout);
  CHECK(advanced.error().message == "cannot connect to " + address.text() + ": Connection refused");
  CHECK(refused.now - start >= seconds(2));
  CHECK(refused.now - start <= milliseconds(2020));
}

TEST_CASE("a dial waits for a process that does not answer, as long as its system does") {
  const Fd busy = listen_on({"127.0.0.1", 0}).value();
  Dial waiting({local_address(busy.get()).value()});
  REQUIRE(waiting.advance().has_value());
  waiting.answered();
  for (int minute = 0; minute < 120; ++minute) {
    const auto advanced = waiting.advance();
    REQUIRE(advanced.has_value());
    CHECK(*advanced == nullptr);
    CHECK(waiting.dial.fd() >= 0);
    CHECK(!waiting.dial.committed());
    waiting.now += seconds(60);
  }
}

TEST_CASE("a dial that another host does not answer tries other ports, until the dead-after time") {
  const FullQueue full;
  Dial dial({full.address}, Token::random().value(), false);
  const Time start = dial.now;
  std::set<uint16_t> ports;
  Result<std::unique_ptr<AuthenticatedConnection>> advanced = dial.advance();
  for (; advanced && dial.now < start + seconds(10); dial.now += milliseconds(10)) {
    if (dial.dial.fd() >= 0) ports.insert(local_address(dial.dial.fd()).value().port);
    advanced = dial.advance();
  }
  REQUIRE(!advanced);
  CHECK(advanced.error().message == "cannot connect to " + full.address.text() + ": no answer");
  CHECK(dial.now - start >= seconds(5));
  CHECK(dial.now - start <= milliseconds(5100));
  CHECK(ports.size() >= 3);
}

TEST_CASE("a full queue on this host is no silence, and a dial connects when there is room") {
  FullQueue full;
  Dial dial({full.address});
  for (int i = 0; i < 6000; ++i, dial.now += milliseconds(10))
    REQUIRE(dial.advance().has_value());
  for (size_t i = 0; i < full.waiting.size(); ++i)
    REQUIRE(accept_one(full.listener.get()).value());
  Fd accepted;
  for (int i = 0; i < 5000 && !accepted; ++i, dial.now += milliseconds(10)) {
    REQUIRE(dial.advance().has_value());
    pollfd fd = {.fd = full.listener.get(), .events = POLLIN, .revents = 0};
    if (poll(&fd, 1, 1) == 1) accepted = accept_one(full.listener.get()).value();
  }
  CHECK(accepted);
}

TEST_CASE("a dial that its peer refuses again and again ends after the dead-after time") {
  const Token token = Token::random().value();
  PeerListener listener =
      PeerListener::open({.claim = {token, "job", 1, zero}, .tcp_ips = {"127.0.0.1"}}).value();
  Dial dial({listener.endpoint().tcp.at(0)}, token);
  const Time start = dial.now;
  Result<std::unique_ptr<AuthenticatedConnection>> advanced = dial.advance();
  while (advanced && dial.now < start + seconds(10)) {
    REQUIRE(!*advanced);
    REQUIRE(listener.advance(Clock::now(), [](PeerHandshake& handshake) -> Result<> {
      handshake.refuse_peer("not now");
      return fail(Errc::refused, "refused");
    }));
    dial.now += milliseconds(10);
    advanced = dial.advance();
  }
  REQUIRE(!advanced);
  CHECK(advanced.error().code == Errc::timeout);
  CHECK_MESSAGE(advanced.error().message.ends_with("not now"), advanced.error().message);
  CHECK(dial.now - start <= milliseconds(5200));
}

TEST_CASE("a dial that makes room for its peer's tries again soon") {
  const Fd busy = listen_on({"127.0.0.1", 0}).value();
  Dial dial({local_address(busy.get()).value()});
  REQUIRE(dial.advance().has_value());
  CHECK(dial.dial.fd() >= 0);
  dial.dial.yield(dial.now);
  CHECK(dial.dial.fd() == -1);
  REQUIRE(dial.advance().has_value());
  CHECK(dial.dial.fd() == -1);
  dial.now = dial.dial.next_deadline();
  REQUIRE(dial.advance().has_value());
  CHECK(dial.dial.fd() >= 0);
}

TEST_CASE("a dial without descriptors fails at once, with both numbers") {
  const Address address = nobody();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Dial dial({address});
    const rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    const auto advanced = dial.advance();
    const bool named = !advanced && advanced.error().code == Errc::input &&
                       advanced.error().message.find("the hard limit is 3") != std::string::npos;
    _exit(named ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace dt
