#include "comm/shared/block_pipeline.h"

#include "tests/unit/comm/memory/heap_area.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr uint64_t depth_of_all = 4;

/// Moves no data, but records the phases of its blocks.
class RecordedTransfer final : public BlockTransfer {
 public:
  RecordedTransfer(uint64_t blocks, bool reduces, int reader)
      : blocks_(blocks), reduces_(reduces), reader_(reader) {}
  uint64_t blocks() const override { return blocks_; }
  uint64_t depth() const override { return depth_of_all; }
  bool reduces() const override { return reduces_; }
  bool reads(int reader, int /*writer*/) const override { return reader == reader_; }
  size_t send(Block block) override { return note('s', block); }
  size_t reduce(Block block) override { return note('r', block); }
  size_t receive(Block block) override { return note('g', block); }
  std::string phases;
  bool past_caches = false;  ///< of the last block sent

 private:
  size_t note(char phase, Block block) {
    phases += phase + std::to_string(block.index) + ' ';
    if (phase == 's') past_caches = block.past_caches;
    return 4096;
  }
  uint64_t blocks_;
  bool reduces_;
  int reader_;
};

/// Two members; member 0 alone reads in the last phase.
struct Pair {
  Pair(uint64_t blocks, bool reduces) {
    for (int member = 0; member < 2; ++member) {
      areas.push_back(memory.of(member));
      transfers.push_back(std::make_unique<RecordedTransfer>(blocks, reduces, 0));
      pipelines.push_back(std::make_unique<BlockPipeline>(*areas.back()));
      pipelines.back()->start(*transfers.back(), 0);
    }
  }
  BlockPipeline& operator[](size_t member) { return *pipelines[member]; }
  HeapArea memory{2};
  std::vector<std::shared_ptr<SharedArea>> areas;
  std::vector<std::unique_ptr<RecordedTransfer>> transfers;
  std::vector<std::unique_ptr<BlockPipeline>> pipelines;
};

TEST_CASE("a member that only sends is done when its last block lies in a slot") {
  Pair pair(depth_of_all, false);
  CHECK(pair[1].step(SIZE_MAX));
  CHECK(pair[1].done());
  CHECK(pair[1].waits_for() == -1);
  CHECK(pair[0].step(SIZE_MAX));
  CHECK(pair[0].done());
}

TEST_CASE("a sender waits for the reader of the slot that it needs again") {
  Pair pair(depth_of_all + 1, false);
  CHECK(pair[1].step(SIZE_MAX));
  CHECK(!pair[1].step(SIZE_MAX));
  CHECK(!pair[1].done());
  CHECK(pair[1].waits_for() == 0);
  pair[0].step(SIZE_MAX);
  CHECK(!pair[0].done());
  CHECK(pair[0].waits_for() == 1);
  pair[1].step(SIZE_MAX);
  CHECK(pair[1].done());
  pair[0].step(SIZE_MAX);
  CHECK(pair[0].done());
}

TEST_CASE("a block is reduced when all have sent it, and read when all have reduced it") {
  Pair pair(1, true);
  pair[0].step(SIZE_MAX);
  CHECK(pair.transfers[0]->phases == "s0 ");
  CHECK(pair[0].waits_for() == 1);
  pair[1].step(SIZE_MAX);
  CHECK(pair[1].done());
  pair[0].step(SIZE_MAX);
  CHECK(pair.transfers[0]->phases == "s0 r0 g0 ");
  CHECK(pair[0].done());
}

/// A clock whose every call is that much later.
template <int64_t step_ns>
Time stepping() {
  static Time now;
  return now += Duration(step_ns);
}

/// Sends many blocks with this clock. Returns true if the last was written past the caches.
bool ends_past_caches(Time (*clock)()) {
  const HeapArea memory(1);
  const auto area = memory.of(0, clock);
  BlockPipeline pipeline(*area);
  RecordedTransfer transfer(100, false, 0);
  pipeline.start(transfer, 0);
  while (!pipeline.done())
    pipeline.step(SIZE_MAX);
  return transfer.past_caches;
}

TEST_CASE("a member whose writes are slow writes past its caches") {
  CHECK(ends_past_caches(stepping<100'000>));
  CHECK(!ends_past_caches(stepping<100>));
  CHECK(!ends_past_caches(nullptr));
}

TEST_CASE("a step ends after the given number of bytes") {
  Pair pair(3, false);
  CHECK(pair[1].step(1));
  CHECK(pair.transfers[1]->phases == "s0 ");
}

TEST_CASE("the blocks of the next transfer follow those of the last") {
  Pair pair(3, false);
  pair[1].step(SIZE_MAX);
  pair[0].step(SIZE_MAX);
  REQUIRE(pair[0].done());
  RecordedTransfer next(2, false, 0);
  pair[1].start(next, pair[0].end());
  CHECK(!pair[1].done());
  pair[1].step(SIZE_MAX);
  CHECK(next.phases == "s0 r0 g0 s1 r1 g1 ");
  CHECK(pair.areas[0]->progress(1).sent.load() == 5);
}

TEST_CASE("blocks that were moved in another way are skipped on all members") {
  Pair pair(1, false);
  pair[1].step(SIZE_MAX);
  pair[0].step(SIZE_MAX);
  for (const size_t member : {0, 1})
    pair[member].skip_to(9);
  CHECK(pair[0].done());
  CHECK(pair[0].end() == 9);
  RecordedTransfer next(1, false, 0);
  pair[1].start(next, 9);
  pair[1].step(SIZE_MAX);
  CHECK(next.phases == "s0 r0 g0 ");
  CHECK(pair.areas[0]->progress(1).sent.load() == 10);
  CHECK(pair[1].moved() == 30);
}

}  // namespace
}  // namespace dt
