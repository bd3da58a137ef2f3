#include "comm/shared/exchange_transfer.h"

#include "tests/unit/comm/transport/heap_area.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace dt {
namespace {

TEST_CASE("only the root of a scatter sends, and each member receives its part") {
  const HeapArea memory(3);
  constexpr size_t count = 30'000;
  std::vector<float> root(3 * count);
  std::iota(root.begin(), root.end(), 1.0F);
  std::vector<float> other(count);
  const OperationRequest sending{
      .kind = OperationKind::scatter, .peer = 1, .count = count, .input = root.data()};
  OperationRequest receiving = sending;
  receiving.input = nullptr;
  receiving.output = other.data();
  const auto one = memory.of(1);
  const auto two = memory.of(2);
  ExchangeTransfer sender(*one);
  ExchangeTransfer receiver(*two);
  sender.start(sending);
  receiver.start(receiving);
  CHECK(sender.blocks() > 1);
  CHECK(receiver.blocks() == sender.blocks());
  for (uint64_t block = 0; block < sender.blocks(); ++block) {
    CHECK(receiver.send({block, block}) == 0);
    CHECK(sender.send({block, block}) > 0);
    CHECK(sender.receive({block, block}) == 0);
    CHECK(receiver.receive({block, block}) > 0);
  }
  CHECK(std::equal(other.begin(), other.end(), root.begin() + 2 * count));
}

TEST_CASE("an exchange may be in place: each block is sent before it is overwritten") {
  const HeapArea memory(2, 1024);
  constexpr size_t count = 1000;
  std::vector<std::vector<float>> buffers(2, std::vector<float>(2 * count));
  for (size_t member = 0; member < 2; ++member)
    std::iota(buffers[member].begin(), buffers[member].end(),
              10'000.0F * static_cast<float>(member));
  const std::vector<std::vector<float>> before = buffers;
  const auto zero = memory.of(0);
  const auto one = memory.of(1);
  std::vector<ExchangeTransfer> members = {ExchangeTransfer(*zero), ExchangeTransfer(*one)};
  std::vector<OperationRequest> requests(2);
  for (size_t member = 0; member < 2; ++member) {
    requests[member] = {.kind = OperationKind::all_to_all,
                        .count = count,
                        .input = buffers[member].data(),
                        .output = buffers[member].data()};
    members[member].start(requests[member]);
  }
  CHECK(members[0].blocks() > 3);
  for (uint64_t block = 0; block < members[0].blocks(); ++block) {
    for (ExchangeTransfer& member : members)
      member.send({block, block});
    for (ExchangeTransfer& member : members)
      member.receive({block, block});
  }
  for (size_t i = 0; i < count; ++i) {
    REQUIRE(buffers[0][i] == before[0][i]);
    REQUIRE(buffers[0][count + i] == before[1][i]);
    REQUIRE(buffers[1][i] == before[0][count + i]);
    REQUIRE(buffers[1][count + i] == before[1][count + i]);
  }
}

}  // namespace
}  // namespace dt
