#include "comm/transport/pair_memory.h"

#include "comm/memory/sealed_memory.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace dt {
namespace {

using enum PairMemory::Side;

TEST_CASE("both tasks have the same rings, each the other way round, and their flags") {
  const auto made = PairMemory::create().value();
  const auto opened = PairMemory::open(duplicate(made->fd()).value()).value();
  const ShmRings near = PairMemory::rings(made, dialer);
  const ShmRings far = PairMemory::rings(opened, acceptor);
  near.out->written = 5;
  near.out_data.back() = std::byte{6};
  far.out->written = 7;
  far.out_data.front() = std::byte{8};
  CHECK(far.in->written == 5);
  CHECK(far.in_data.back() == std::byte{6});
  CHECK(near.in->written == 7);
  CHECK(near.in_data.front() == std::byte{8});
  CHECK(near.out_data.size() == PairMemory::ring_bytes);
  made->asleep(dialer) = 1;
  CHECK(opened->asleep(dialer) == 1);
  CHECK(opened->asleep(acceptor) == 0);
}

TEST_CASE("the memory is refused unless its size is right and sealed") {
  const auto made = PairMemory::create().value();
  CHECK(ftruncate(made->fd(), 1) < 0);
  Fd other(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(other.get(), 4096) == 0);
  CHECK(PairMemory::open(other).error().code == Errc::protocol);
  REQUIRE(seal_size(other.get()));
  CHECK(PairMemory::open(other).error().message.starts_with(
      "the shared memory of a connection has 4096 bytes; expected "));
}

TEST_CASE("a host without memory for a connection is an error") {
  const auto none = PairMemory::create([] { return std::optional<uint64_t>(4096); });
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::os);
}

}  // namespace
}  // namespace dt
