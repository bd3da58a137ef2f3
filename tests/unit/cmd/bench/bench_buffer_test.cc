#include "cmd/bench/bench_buffer.h"

#include "cmd/bench/dtrain_world.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a buffer of either kind is zero, and large enough") {
  DtrainWorld world(dtrain_init(nullptr, nullptr));
  for (const auto kind : {BenchBuffer::Kind::user, BenchBuffer::Kind::library}) {
    BenchBuffer buffer(world, kind);
    for (const size_t bytes : {size_t{0}, size_t{10}, size_t{5}, size_t{100'000}}) {
      REQUIRE(buffer.reserve(bytes));
      for (size_t i = 0; i < bytes; ++i)
        REQUIRE(buffer.data()[i] == std::byte{0});
    }
    const std::byte* before = buffer.data();
    REQUIRE(buffer.reserve(1));
    CHECK(buffer.data() == before);
  }
}

TEST_CASE("memory that the library refuses is an error") {
  DtrainWorld world(dtrain_init(nullptr, nullptr));
  BenchBuffer buffer(world, BenchBuffer::Kind::library);
  const auto refused = buffer.reserve(SIZE_MAX);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::os);
}

}  // namespace
}  // namespace dt
