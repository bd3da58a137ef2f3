#include "comm/transport/doorbell.h"
#include "comm/transport/shm_link.h"
#include "comm/transport/shm_ring.h"
#include "comm/transport/shm_segment.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

namespace dt {
namespace {

/// A ring in ordinary memory.
struct Ring {
  explicit Ring(size_t capacity) : data(capacity) {}
  RingControl control = {};
  std::vector<std::byte> data;
};

Bytes numbered(size_t count, size_t first = 0) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((first + i) * 7 % 251);
  return bytes;
}

TEST_CASE("a ring gives back what was written, in order, across its end") {
  Ring ring(16);
  RingWriter writer(ring.control, ring.data);
  RingReader reader(ring.control, ring.data);
  size_t position = 0;
  for (const size_t size : {5, 11, 16, 1, 15, 7, 16}) {
    const Bytes sent = numbered(size, position);
    REQUIRE(writer.write(sent).value() == size);
    Bytes got(size);
    REQUIRE(reader.read(got).value() == size);
    CHECK(got == sent);
    position += size;
  }
}

TEST_CASE("a full ring takes nothing and an empty one gives nothing") {
  Ring ring(16);
  RingWriter writer(ring.control, ring.data);
  RingReader reader(ring.control, ring.data);
  Bytes into(32);
  CHECK(reader.read(into).value() == 0);
  CHECK(writer.write(numbered(20)).value() == 16);
  CHECK(writer.write(numbered(1)).value() == 0);
  CHECK(reader.read(into).value() == 16);
  CHECK(reader.read(into).value() == 0);
}

TEST_CASE("a reader says that it made room only if its writer may have found none") {
  Ring ring(16);
  RingWriter writer(ring.control, ring.data);
  RingReader reader(ring.control, ring.data);
  Bytes into(4);
  REQUIRE(writer.write(numbered(15)).value() == 15);
  REQUIRE(reader.read(into).has_value());
  CHECK(!reader.made_room());
  REQUIRE(writer.write(numbered(5)).value() == 5);
  REQUIRE(reader.read(into).has_value());
  CHECK(reader.made_room());
}

TEST_CASE("positions that cannot be true are an error, not an access outside the ring") {
  for (const uint64_t lie : {uint64_t{17}, uint64_t{1} << 40, uint64_t{1} << 63}) {
    CAPTURE(lie);
    Ring ring(16);
    RingReader reader(ring.control, ring.data);
    ring.control.written = lie;
    Bytes into(64);
    CHECK(reader.read(into).error().code == Errc::protocol);
    RingWriter writer(ring.control, ring.data);
    ring.control.read = lie;
    CHECK(writer.write(into).error().code == Errc::protocol);
  }
}

TEST_CASE("two threads pass random pieces through a small ring without loss") {
  constexpr size_t total = 200'000;
  Ring ring(1024);
  std::thread sender([&] {
    RingWriter writer(ring.control, ring.data);
    std::minstd_rand random(1);
    for (size_t sent = 0; sent < total;) {
      const Bytes piece = numbered(std::min<size_t>(1 + random() % 1500, total - sent), sent);
      sent += writer.write(piece).value();
      std::this_thread::yield();
    }
  });
  RingReader reader(ring.control, ring.data);
  Bytes got;
  while (got.size() < total) {
    std::array<std::byte, 700> piece;
    const size_t n = reader.read(piece).value();
    got.insert(got.end(), piece.begin(), piece.begin() + n);
    if (n == 0) std::this_thread::yield();
  }
  sender.join();
  CHECK(got == numbered(total));
}

TEST_CASE("a segment's rings and flags do not overlap, and are as small as many ranks need") {
  for (const int slots : {2, 3, 16, 64}) {
    CAPTURE(slots);
    const size_t bytes = ShmSegment::ring_bytes(slots);
    CHECK(bytes >= size_t{16} << 10);
    CHECK(bytes <= size_t{256} << 10);
    CHECK(bytes * static_cast<size_t>(slots) * static_cast<size_t>(slots - 1) <= size_t{256} << 20);
  }
  const auto segment = ShmSegment::create(3).value();
  std::vector<std::byte*> starts;
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from == to) continue;
      starts.push_back(segment->data({from, to}).data());
      CHECK(segment->control({from, to}).written == 0);
    }
  }
  for (size_t i = 1; i < starts.size(); ++i)
    CHECK(starts[i] == starts[i - 1] + ShmSegment::ring_bytes(3));
}

TEST_CASE("a segment is refused unless its size is right and sealed") {
  const auto segment = ShmSegment::create(2).value();
  CHECK(ftruncate(segment->fd(), 1) < 0);
  CHECK(ShmSegment::open(duplicate(segment->fd()).value(), 2).has_value());
  CHECK(ShmSegment::open(duplicate(segment->fd()).value(), 3).error().code == Errc::protocol);
  Fd unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(unsealed.get(), 4096) == 0);
  CHECK(ShmSegment::open(std::move(unsealed), 2).error().code == Errc::protocol);
}

/// Both ends of a link in one process.
struct LinkPair {
  std::shared_ptr<ShmSegment> segment = ShmSegment::create(2).value();
  std::shared_ptr<ShmPeer> zero = std::make_shared<ShmPeer>();  // as seen by one
  std::shared_ptr<ShmPeer> one = std::make_shared<ShmPeer>();
  LinkPair() {
    zero->doorbell = make_doorbell().value();
    one->doorbell = make_doorbell().value();
  }
  ShmLink at_zero{segment, {0, 1}, one};
  ShmLink at_one{segment, {1, 0}, zero};
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

TEST_CASE("a link whose peer is gone still gives what it had sent, and then says so") {
  LinkPair pair;
  REQUIRE(pair.at_zero.send(numbered(8)).value() == 8);
  pair.zero->closed = true;
  Bytes into(5);
  CHECK(pair.at_one.receive(into).value() == 5);
  CHECK(pair.at_one.receive(into).value() == 3);
  CHECK(pair.at_one.receive(into).error().code == Errc::closed);
  CHECK(pair.at_one.send(into).error().code == Errc::closed);
}

}  // namespace
}  // namespace dt
