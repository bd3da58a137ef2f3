#include "comm/transport/shm_link.h"

#include "comm/transport/doorbell.h"
#include "comm/transport/shm_segment.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>

#include <cstddef>
#include <memory>

namespace dt {
namespace {

Bytes numbered(size_t count, size_t first = 0) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((first + i) * 7 % 251);
  return bytes;
}

/// Both ends of a link in one process.
struct LinkPair {
  std::shared_ptr<ShmSegment> segment = ShmSegment::create(2).value();
  std::shared_ptr<ShmPeer> zero = std::make_shared<ShmPeer>();  // as seen by one
  std::shared_ptr<ShmPeer> one = std::make_shared<ShmPeer>();
  LinkPair() {
    zero->doorbell = make_doorbell().value();
    one->doorbell = make_doorbell().value();
    zero->asleep = &segment->asleep(0);
    one->asleep = &segment->asleep(1);
  }
  ShmLink at_zero{ShmSegment::rings(segment, {0, 1}), one};
  ShmLink at_one{ShmSegment::rings(segment, {1, 0}), zero};
};

bool rings(const Fd& doorbell) {
  pollfd fd = {.fd = doorbell.get(), .events = POLLIN, .revents = 0};
  return poll(&fd, 1, 0) == 1;
}

TEST_CASE("a link rings its peer only when that sleeps, and once") {
  LinkPair pair;
  REQUIRE(pair.at_zero.send(numbered(8)).value() == 8);
  CHECK(!rings(pair.one->doorbell));
  pair.segment->asleep(1) = 1;
  REQUIRE(pair.at_zero.send(numbered(8)).value() == 8);
  CHECK(rings(pair.one->doorbell));
  CHECK(pair.segment->asleep(1) == 0);
  silence(pair.one->doorbell.get());
  REQUIRE(pair.at_zero.send(numbered(8)).value() == 8);
  CHECK(!rings(pair.one->doorbell));
}

TEST_CASE("a link wakes a sleeping sender when it makes room in a full ring") {
  LinkPair pair;
  const Bytes much = numbered(ShmSegment::ring_bytes(2) + 1);
  REQUIRE(pair.at_zero.send(much).value() == much.size() - 1);
  REQUIRE(pair.at_zero.send(much).value() == 0);
  pair.segment->asleep(0) = 1;
  Bytes into(100);
  REQUIRE(pair.at_one.receive(into).value() == 100);
  CHECK(rings(pair.zero->doorbell));
}

TEST_CASE("a link whose peer is gone still gives what it had sent, and then fails") {
  LinkPair pair;
  REQUIRE(pair.at_zero.send(numbered(8)).value() == 8);
  pair.zero->closed = true;
  Bytes into(5);
  CHECK(pair.at_one.receive(into).value() == 5);
  CHECK(pair.at_one.receive(into).value() == 3);
  CHECK(pair.at_one.receive(into).error().code == Errc::closed);
  CHECK(pair.at_one.send(into).error().code == Errc::closed);
}

TEST_CASE("a link that is closed sends nothing more, and its peer's socket ends") {
  LinkPair pair;
  int sockets[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  pair.one->socket = Fd(sockets[0]);
  pair.zero->socket = Fd(sockets[1]);
  CHECK(!rings(pair.zero->socket));
  pair.at_zero.close();
  CHECK(rings(pair.zero->socket));
  CHECK(pair.at_zero.send(numbered(8)).error().code == Errc::closed);
}

}  // namespace
}  // namespace dt
