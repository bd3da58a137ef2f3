#include "comm/transport/tcp_link.h"

#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>

namespace dt {
namespace {

struct Sockets {
  std::shared_ptr<const Fd> a;
  std::shared_ptr<const Fd> b;
};

bool ready(int fd, short events) {
  pollfd at = {.fd = fd, .events = events, .revents = 0};
  return poll(&at, 1, 5000) == 1;
}

Sockets connected() {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  Fd a = start_connect(local_address(listener.get()).value()).value();
  REQUIRE(ready(listener.get(), POLLIN));
  Fd b = accept_one(listener.get()).value();
  REQUIRE(ready(a.get(), POLLOUT));
  return {std::make_shared<const Fd>(std::move(a)), std::make_shared<const Fd>(std::move(b))};
}

TEST_CASE("a TCP link gives nothing when nothing has arrived") {
  const Sockets sockets = connected();
  TcpLink link(sockets.a);
  std::array<std::byte, 8> into;
  CHECK(link.receive(into).value() == 0);
  CHECK(link.exposed());
}

TEST_CASE("small reads of a TCP link take what one system call brought") {
  const Sockets sockets = connected();
  TcpLink a(sockets.a);
  TcpLink b(sockets.b);
  REQUIRE(a.send(as_bytes("0123456789")).value() == 10);
  REQUIRE(ready(sockets.b->get(), POLLIN));
  std::array<std::byte, 4> into;
  CHECK(b.receive(into).value() == 4);
  pollfd socket = {.fd = sockets.b->get(), .events = POLLIN, .revents = 0};
  CHECK(poll(&socket, 1, 0) == 0);
  CHECK(b.receive(into).value() == 4);
  CHECK(b.receive(into).value() == 2);
  CHECK(b.receive(into).value() == 0);
}

TEST_CASE("a full TCP link takes nothing until its peer reads, and loses nothing") {
  const Sockets sockets = connected();
  TcpLink a(sockets.a);
  TcpLink b(sockets.b);
  const Bytes block(size_t{1} << 20, std::byte{42});
  size_t sent = 0;
  while (const size_t n = a.send(block).value())
    sent += n;
  REQUIRE(sent > 0);
  Bytes into(size_t{1} << 16);
  size_t got = 0;
  while (got < sent) {
    REQUIRE(ready(sockets.b->get(), POLLIN));
    got += b.receive(into).value();
  }
  CHECK(got == sent);
  REQUIRE(ready(sockets.a->get(), POLLOUT));
  CHECK(a.send(block).value() > 0);
}

TEST_CASE("the end of a TCP link is an error that says closed, after the last byte") {
  Sockets sockets = connected();
  TcpLink b(sockets.b);
  {
    TcpLink a(sockets.a);
    REQUIRE(a.send(as_bytes("last")).value() == 4);
    sockets.a.reset();
  }
  REQUIRE(ready(sockets.b->get(), POLLRDHUP));
  std::array<std::byte, 16> into;
  CHECK(b.receive(into).value() == 4);
  CHECK(b.receive(into).error().code == Errc::closed);
}

TEST_CASE("a TCP link that is closed ends at its peer, though the socket stays open") {
  const Sockets sockets = connected();
  TcpLink a(sockets.a);
  TcpLink b(sockets.b);
  REQUIRE(a.send(as_bytes("last")).value() == 4);
  a.close();
  REQUIRE(ready(sockets.b->get(), POLLRDHUP));
  std::array<std::byte, 16> into;
  CHECK(a.send(as_bytes("more")).error().code == Errc::closed);
  CHECK(b.receive(into).value() == 4);
  CHECK(b.receive(into).error().code == Errc::closed);
}

}  // namespace
}  // namespace dt
