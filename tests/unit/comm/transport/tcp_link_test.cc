#include "comm/transport/tcp_link.h"

#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <vector>

namespace dt {
namespace {

struct Sockets {
  std::shared_ptr<TcpSocket> a;
  std::shared_ptr<TcpSocket> b;
};

bool ready(int fd, short events) {
  pollfd at = {.fd = fd, .events = events, .revents = 0};
  return poll(&at, 1, 20'000) == 1;
}

Sockets connected() {
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  Fd a = start_connect(local_address(listener.get()).value()).value();
  REQUIRE(ready(listener.get(), POLLIN));
  Fd b = accept_one(listener.get()).value();
  REQUIRE(ready(a.get(), POLLOUT));
  return {std::make_shared<TcpSocket>(std::move(a)), std::make_shared<TcpSocket>(std::move(b))};
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
    const size_t n = b.receive(into).value();
    got += n;
    if (n > 0) continue;
    REQUIRE(ready(sockets.b->get(), POLLIN));
    sockets.b->report({.readable = true});
  }
  CHECK(got == sent);
  REQUIRE(ready(sockets.a->get(), POLLOUT));
  CHECK(a.send(block).value() == 0);
  sockets.a->report({.writable = true});
  CHECK(a.send(block).value() > 0);
}

TEST_CASE("a TCP link owes an answer until its peer's system has acknowledged all bytes") {
  const Sockets sockets = connected();
  TcpLink a(sockets.a);
  CHECK(!a.check_answers(seconds(5)).value());
  REQUIRE(a.send(as_bytes("acknowledged by the kernel")).value() == 26);
  const Time end = Clock::now() + seconds(20);
  while (a.check_answers(seconds(5)).value())
    REQUIRE(Clock::now() < end);
  // A peer that reads nothing closes its window. It still answers, so that it is not silent.
  const Bytes block(size_t{1} << 20, std::byte{42});
  while (a.send(block).value() > 0) {
  }
  CHECK(a.check_answers(seconds(5)).value());
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
  sockets.b->report({.readable = true, .ended = true});
  std::array<std::byte, 16> into;
  CHECK(b.receive(into).value() == 4);
  CHECK(b.may_receive());
  CHECK(b.receive(into).error().code == Errc::closed);
}

TEST_CASE("a TCP link sends a gather list whole, in order, and reports what the kernel took") {
  const Sockets sockets = connected();
  TcpLink a(sockets.a);
  TcpLink b(sockets.b);
  const Bytes long_part(100, std::byte{'x'});
  const std::array<ByteSpan, 4> parts = {as_bytes("head"), {}, long_part, as_bytes("tail")};
  CHECK(a.send_parts(parts).value() == 108);
  REQUIRE(ready(sockets.b->get(), POLLIN));
  std::array<std::byte, 200> into;
  REQUIRE(b.receive(into).value() == 108);
  CHECK(as_text(ByteSpan(into).first(6)) == "headxx");
  CHECK(as_text(ByteSpan(into).subspan(102, 6)) == "xxtail");
}

TEST_CASE("a TCP link that has read all reads again only after a report") {
  const Sockets sockets = connected();
  TcpLink a(sockets.a);
  TcpLink b(sockets.b);
  const auto arrivals = std::make_shared<ReadySet>(100);
  CHECK(b.report_arrivals(arrivals, 70));
  std::vector<size_t> ready_links;
  arrivals->for_each([&](size_t index) { ready_links.push_back(index); });
  CHECK(ready_links == std::vector<size_t>{70});  // a new link may have bytes already
  arrivals->remove(70);
  std::array<std::byte, 8> into;
  CHECK(b.receive(into).value() == 0);
  CHECK(!b.may_receive());
  REQUIRE(a.send(as_bytes("more")).value() == 4);
  REQUIRE(ready(sockets.b->get(), POLLIN));
  CHECK(b.receive(into).value() == 0);
  sockets.b->report({.readable = true});
  CHECK(b.may_receive());
  arrivals->for_each([&](size_t index) { ready_links.push_back(index); });
  CHECK(ready_links == std::vector<size_t>{70, 70});
  CHECK(b.receive(into).value() == 4);
  CHECK(b.may_receive());  // only a read in vain shows that nothing is left
  CHECK(b.receive(into).value() == 0);
  CHECK(!b.may_receive());
}

TEST_CASE("a read that fills its memory and the buffer is followed by another") {
  const Sockets sockets = connected();
  TcpLink a(sockets.a);
  TcpLink b(sockets.b);
  const Bytes sent(size_t{64} << 10, std::byte{7});
  REQUIRE(a.send(sent).value() == sent.size());
  size_t got = 0;
  Bytes into(1000);
  for (int i = 0; i < 1000 && got < sent.size(); ++i) {
    if (!b.may_receive()) {
      REQUIRE(ready(sockets.b->get(), POLLIN));
      sockets.b->report({.readable = true});
    }
    got += b.receive(into).value();
  }
  CHECK(got == sent.size());
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
  sockets.b->report({.readable = true, .ended = true});
  CHECK(b.receive(into).value() == 4);
  CHECK(b.receive(into).error().code == Errc::closed);
}

}  // namespace
}  // namespace dt
