#include "comm/shared/block_transfer.h"

#include "tests/unit/comm/transport/heap_area.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

TEST_CASE("the members of an operation cut it into the same number of blocks") {
  const HeapArea memory(3, 1024);
  std::vector<float> buffer(3 * 20000);
  for (const OperationKind kind : {OperationKind::all_reduce, OperationKind::reduce_scatter}) {
    for (const size_t count : {1, 100, 20000}) {
      OperationRequest request{
          .kind = kind, .count = count, .input = buffer.data(), .output = buffer.data()};
      std::vector<uint64_t> blocks;
      for (int member = 0; member < 3; ++member) {
        const auto area = memory.of(member);
        ReduceTransfer transfer(*area);
        transfer.start(request);
        blocks.push_back(transfer.blocks());
      }
      CHECK(blocks[0] > 0);
      CHECK(blocks[1] == blocks[0]);
      CHECK(blocks[2] == blocks[0]);
    }
  }
}

TEST_CASE("members reduce parts of a block that are nearly equal and cover it") {
  const HeapArea memory(3);
  const std::vector<float> input(1000, 1);
  for (const size_t count : {size_t{1}, size_t{47}, size_t{1000}}) {
    const OperationRequest request{
        .kind = OperationKind::all_reduce, .count = count, .input = input.data()};
    size_t reduced = 0;
    std::vector<float> output(1000);
    for (int member = 0; member < 3; ++member) {
      const auto area = memory.of(member);
      ReduceTransfer transfer(*area);
      OperationRequest own = request;
      own.output = output.data();
      transfer.start(own);
      REQUIRE(transfer.blocks() == 1);
      transfer.send({});
      // Counts the bytes twice: for the user's buffer and for the slot.
      reduced += transfer.reduce({}) / 2;
    }
    CHECK(reduced == count * sizeof(float));
  }
}

TEST_CASE("only the root of a broadcast sends, and only the others receive") {
  const HeapArea memory(2);
  std::vector<float> root(50000, 3);
  std::vector<float> other(50000, 0);
  OperationRequest request{.kind = OperationKind::broadcast, .peer = 1, .count = root.size()};
  const auto zero = memory.of(0);
  const auto one = memory.of(1);
  CopyTransfer receiver(*zero);
  CopyTransfer sender(*one);
  OperationRequest receiving = request;
  receiving.output = other.data();
  request.input = root.data();
  sender.start(request);
  receiver.start(receiving);
  CHECK(receiver.blocks() == sender.blocks());
  for (uint64_t block = 0; block < sender.blocks(); ++block) {
    CHECK(receiver.send({block, block}) == 0);
    CHECK(sender.send({block, block}) > 0);
    CHECK(sender.receive({block, block}) == 0);
    CHECK(receiver.receive({block, block}) > 0);
  }
  CHECK(other == root);
}

}  // namespace
}  // namespace dt
