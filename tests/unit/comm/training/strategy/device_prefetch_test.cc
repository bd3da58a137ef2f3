#include "comm/training/strategy/device_prefetch.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>

namespace dt {
namespace {

std::unique_ptr<ReplicaDevices> two_devices() {
  return ReplicaDevices::open({}, {{"DTRAIN_CPU_DEVICES", "2"}}).value();
}

TEST_CASE("batches are filled ahead, as many as the depth, into memory of the device") {
  const auto devices = two_devices();
  std::atomic<int> filled = 0;
  const auto prefetch = DevicePrefetch::start(*devices, {.replica = 1, .bytes = 4, .depth = 2},
                                              [&](std::byte* into) -> Result<size_t> {
                                                const int number = ++filled;
                                                std::memcpy(into, &number, sizeof number);
                                                return number > 20 ? 0 : sizeof number;
                                              })
                            .value();
  for (int expected = 1; expected <= 20; ++expected) {
    const ByteSpan batch = prefetch->next().value();
    REQUIRE(batch.size() == sizeof(int));
    int number = 0;
    std::memcpy(&number, batch.data(), sizeof number);
    CHECK(number == expected);
    // The one in use, those ahead, and the one that is being filled.
    CHECK(filled <= expected + 3);
    CHECK(devices->device(1).place_of(batch.data()) == MemoryPlace{MemoryPlace::Kind::device, 1});
  }
  CHECK(prefetch->next().value().empty());
  CHECK(prefetch->next().value().empty());
}

TEST_CASE("a failure comes after the batches before it, and stays") {
  const auto devices = two_devices();
  int left = 2;
  const auto prefetch =
      DevicePrefetch::start(*devices, {.bytes = 8}, [&](std::byte*) -> Result<size_t> {
        if (left-- > 0) return 8;
        return fail(Errc::os, "the file is gone");
      }).value();
  CHECK(prefetch->next().value().size() == 8);
  CHECK(prefetch->next().value().size() == 8);
  for (int i = 0; i < 2; ++i)
    CHECK(prefetch->next().error().message == "the file is gone");
}

TEST_CASE("a batch that is larger than its room is refused, and so are wrong options") {
  const auto devices = two_devices();
  const auto too_large = [](std::byte*) -> Result<size_t> { return 9; };
  const auto prefetch = DevicePrefetch::start(*devices, {.bytes = 8}, too_large).value();
  CHECK(prefetch->next().error().message == "a batch to prefetch has 9 bytes, and room for 8");
  CHECK(DevicePrefetch::start(*devices, {.replica = 2, .bytes = 8}, too_large).error().message ==
        "cannot prefetch for replica 2 of this process, which has 2");
  CHECK(DevicePrefetch::start(*devices, {.bytes = 0}, too_large).error().message ==
        "cannot prefetch 2 batches of 0 bytes; give 1 to 1024 batches that are not empty");
  CHECK_FALSE(DevicePrefetch::start(*devices, {.bytes = 1, .depth = 0}, too_large));
}

TEST_CASE("it ends while batches are unused") {
  const auto devices = two_devices();
  for (int i = 0; i < 50; ++i)
    CHECK(DevicePrefetch::start(*devices, {.bytes = 8}, [](std::byte*) -> Result<size_t> {
            return 8;
          }).has_value());
}

}  // namespace
}  // namespace dt
