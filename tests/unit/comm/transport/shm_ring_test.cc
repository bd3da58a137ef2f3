#include "comm/transport/shm_ring.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
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
  for (const size_t size : std::initializer_list<size_t>{5, 11, 16, 1, 15, 7, 16}) {
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

TEST_CASE("a reader reports that it made room only if its writer may have found none") {
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

}  // namespace
}  // namespace dt
