#include "comm/shared/block_transfer.h"

#include "tests/unit/comm/memory/heap_area.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace dt {
namespace {

TEST_CASE("the members of an operation cut it into the same number of blocks") {
  const HeapArea memory(3, 1024);
  std::vector<float> buffer(3 * 20000);
  for (const OperationKind kind :
       {OperationKind::all_reduce, OperationKind::reduce, OperationKind::reduce_scatter}) {
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
      // Counts the bytes of both other members.
      reduced += transfer.reduce({}) / 2;
    }
    CHECK(reduced == count * sizeof(float));
  }
}

/// One member's side of a copying collective.
struct Side {
  Side(const HeapArea& memory, int member, const OperationRequest& request)
      : area(memory.of(member)), layout(area->members(), member), transfer(*area, layout) {
    layout.lay_out(request);
    transfer.start(request);
  }
  std::shared_ptr<SharedArea> area;
  PartLayout layout;
  CopyTransfer transfer;
};

TEST_CASE("only the root of a broadcast sends, and only the others receive") {
  const HeapArea memory(2);
  std::vector<float> root(50000, 3);
  std::vector<float> other(50000, 0);
  OperationRequest request{.kind = OperationKind::broadcast, .peer = 1, .count = root.size()};
  OperationRequest receiving = request;
  receiving.output = other.data();
  request.input = root.data();
  Side receiver(memory, 0, receiving);
  Side sender(memory, 1, request);
  CHECK(receiver.transfer.blocks() == sender.transfer.blocks());
  for (uint64_t block = 0; block < sender.transfer.blocks(); ++block) {
    CHECK(receiver.transfer.send({block, block}) == 0);
    CHECK(sender.transfer.send({block, block}) > 0);
    CHECK(sender.transfer.receive({block, block}) == 0);
    CHECK(receiver.transfer.receive({block, block}) > 0);
  }
  CHECK(other == root);
}

TEST_CASE("a slot of a scatter has another piece for each reader") {
  const HeapArea memory(3, 1024);
  std::vector<float> root(3 * 1000);
  std::iota(root.begin(), root.end(), 0.0F);
  std::vector<std::vector<float>> outputs(3, std::vector<float>(1000));
  std::vector<std::unique_ptr<Side>> sides;
  for (int member = 0; member < 3; ++member)
    sides.push_back(std::make_unique<Side>(
        memory, member,
        OperationRequest{.kind = OperationKind::scatter,
                         .peer = 2,
                         .count = 1000,
                         .input = root.data(),
                         .output = outputs[static_cast<size_t>(member)].data()}));
  for (uint64_t block = 0; block < sides[0]->transfer.blocks(); ++block) {
    CHECK(sides[0]->transfer.send({block, block}) == 0);
    sides[2]->transfer.send({block, block});
    for (const auto& side : sides)
      side->transfer.receive({block, block});
  }
  for (size_t member = 0; member < 3; ++member)
    CHECK(std::equal(outputs[member].begin(), outputs[member].end(),
                     root.begin() + static_cast<std::ptrdiff_t>(member * 1000)));
}

TEST_CASE("an exchange may be in place: each block is sent before it is overwritten") {
  const HeapArea memory(2, 1024);
  constexpr size_t count = 1000;
  std::vector<std::vector<float>> buffers(2, std::vector<float>(2 * count));
  for (size_t member = 0; member < 2; ++member)
    std::iota(buffers[member].begin(), buffers[member].end(),
              10'000.0F * static_cast<float>(member));
  const std::vector<std::vector<float>> before = buffers;
  std::vector<std::unique_ptr<Side>> sides;
  for (size_t member = 0; member < 2; ++member) {
    sides.push_back(std::make_unique<Side>(memory, static_cast<int>(member),
                                           OperationRequest{.kind = OperationKind::all_to_all,
                                                            .count = count,
                                                            .input = buffers[member].data(),
                                                            .output = buffers[member].data()}));
  }
  CHECK(sides[0]->transfer.blocks() > 3);
  for (uint64_t block = 0; block < sides[0]->transfer.blocks(); ++block) {
    for (const auto& side : sides)
      side->transfer.send({block, block});
    for (const auto& side : sides)
      side->transfer.receive({block, block});
  }
  for (size_t i = 0; i < count; ++i) {
    REQUIRE(buffers[0][i] == before[0][i]);
    REQUIRE(buffers[0][count + i] == before[1][i]);
    REQUIRE(buffers[1][i] == before[0][count + i]);
    REQUIRE(buffers[1][count + i] == before[1][count + i]);
  }
}

TEST_CASE("only the root of a reduce has a result") {
  const HeapArea memory(2);
  const std::vector<float> input(40000, 2);
  std::vector<float> output(40000, 0);
  std::vector<std::shared_ptr<SharedArea>> areas;
  std::vector<std::unique_ptr<ReduceTransfer>> transfers;
  OperationRequest root{.kind = OperationKind::reduce, .peer = 1, .count = 40000};
  root.input = input.data();
  root.output = output.data();
  OperationRequest other = root;
  other.output = nullptr;
  for (int member = 0; member < 2; ++member) {
    areas.push_back(memory.of(member));
    transfers.push_back(std::make_unique<ReduceTransfer>(*areas.back()));
    transfers.back()->start(member == 1 ? root : other);
  }
  CHECK(transfers[0]->reads(1, 0));
  CHECK(!transfers[0]->reads(0, 1));
  for (uint64_t block = 0; block < transfers[0]->blocks(); ++block) {
    for (const auto& transfer : transfers)
      transfer->send({block, block});
    for (const auto& transfer : transfers)
      transfer->reduce({block, block});
    CHECK(transfers[0]->receive({block, block}) == 0);
    CHECK(transfers[1]->receive({block, block}) > 0);
  }
  CHECK(output == std::vector<float>(40000, 4));
}

}  // namespace
}  // namespace dt
