#include "cmd/bench/bench_buffer.h"

#include "cmd/bench/dtrain_world.h"
#include "gpu/devices/device_places.h"

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

TEST_CASE("a buffer on a device begins with zeros, and is copied in both directions") {
  DtrainWorld world(dtrain_init(nullptr, nullptr));
  const auto device = BenchDevice::open(0, {{"DTRAIN_CPU_DEVICES", "1"}}).value();
  BenchBuffer buffer(world, BenchBuffer::Kind::device, device.get());
  for (const size_t bytes : {size_t{0}, size_t{10}, size_t{5}, size_t{100'000}}) {
    REQUIRE(buffer.reserve(bytes));
    // Memory of a CPU device can be read here.
    for (size_t i = 0; i < bytes; ++i)
      REQUIRE(buffer.data()[i] == std::byte{0});
  }
  CHECK(find_device_place(buffer.data()));
  CHECK_FALSE(find_device_place(buffer.host()));
  buffer.host()[0] = buffer.host()[1] = std::byte{7};
  REQUIRE(buffer.upload(1));
  CHECK(buffer.data()[0] == std::byte{7});
  CHECK(buffer.data()[1] == std::byte{0});
  buffer.data()[0] = buffer.data()[1] = std::byte{8};
  REQUIRE(buffer.download(1));
  CHECK(buffer.host()[0] == std::byte{8});
  CHECK(buffer.host()[1] == std::byte{7});
}

TEST_CASE("a device with too little memory is an error, and other buffers have no copies") {
  DtrainWorld world(dtrain_init(nullptr, nullptr));
  const auto device = BenchDevice::open(0, {{"DTRAIN_CPU_DEVICES", "1"}}).value();
  BenchBuffer buffer(world, BenchBuffer::Kind::device, device.get());
  const auto refused = buffer.reserve(size_t{1} << 50);
  REQUIRE(!refused);
  CHECK(refused.error().code == Errc::out_of_memory);
  BenchBuffer user(world, BenchBuffer::Kind::user);
  REQUIRE(user.reserve(1));
  CHECK(user.host() == user.data());
  CHECK(user.upload(1));
  CHECK(user.download(1));
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
