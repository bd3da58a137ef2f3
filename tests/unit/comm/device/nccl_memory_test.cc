#include "comm/device/nccl_memory.h"

#include "tests/unit/comm/device/connected_ranks.h"

#include <doctest/doctest.h>

#include <utility>

namespace dt {
namespace {

TEST_CASE("memory of tasks is used again") {
  const ConnectedRanks world(1);
  NcclMemory& memory = world.ranks[0]->memory();
  // The connection has enough for small ones.
  CHECK(memory.take(size_t{1} << 20).value().at() == nullptr);
  DeviceBuffer first = memory.take(3'000'000).value();
  const std::byte* const at = first.at();
  const DeviceBuffer second = memory.take(3'000'000).value();
  CHECK(second.at() != at);
  memory.keep(std::move(first));
  const DeviceBuffer larger = memory.take(5'000'000).value();
  CHECK(larger.at() != at);
  const DeviceBuffer again = memory.take(2'900'000).value();
  CHECK(again.at() == at);
}

}  // namespace
}  // namespace dt
