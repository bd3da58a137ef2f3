#pragma once

#include "gpu/kernels/one_thread.h"
#include "gpu/kernels/peer_all_reduce.cuh"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace dt {

/// The memory of a rank that others reach, and what the host reads.
struct PeerRankMemory {
  explicit PeerRankMemory(uint64_t count) : chunks((count + 3) / 4 * 4) {}
  /// Input 0 or 1, and result 2 or 3.
  std::byte* part(size_t number) {
    return reinterpret_cast<std::byte*>(chunks.data() + chunks.size() / 4 * number);
  }
  PeerSignals signals = {};
  PeerTimeout timeouts[peer_blocks_max] = {};
  std::vector<Chunk> chunks;  ///< of four float32 each
};

/// Ranks whose blocks are threads of this process. They sum float32.
class PeerRanks {
 public:
  struct Shape {
    int ranks = 4;
    int blocks = 3;
    uint64_t count = 1024;
    uint64_t tile_elements = 64;
    uint64_t patience_ns = 60'000'000'000;
    bool one_shot = false;
    size_t shift = 0;  ///< bytes of user memory before the first element
  };

  explicit PeerRanks(const Shape& shape) : shape_(shape) {
    for (int rank = 0; rank < shape.ranks; ++rank)
      memory_.push_back(std::make_unique<PeerRankMemory>(shape.count));
  }

  /// Runs one all_reduce of each rank's values, `rounds` times; rank r of `absent` takes no part.
  /// The values of round i are those of `value(rank, i, element)`. Returns how many results or
  /// ends were wrong.
  template <class Order, class Value>
  int run(int rounds, const Value& value, int absent = -1) {
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      for (int block = 0; block < shape_.blocks && rank != absent; ++block) {
        threads.emplace_back([&, rank, block] {
          for (int round = 0; round < rounds; ++round)
            wrong += run_block<Order>(rank, block, round, value);
        });
      }
    }
    for (std::thread& thread : threads)
      thread.join();
    return wrong;
  }

  void stop() { SystemOrder::release(&stop_, 1); }
  void resume() { SystemOrder::release(&stop_, 0); }
  PeerSignals& signals(int rank) { return memory_[static_cast<size_t>(rank)]->signals; }
  const PeerTimeout& timeout(int rank, int block) const {
    return memory_[static_cast<size_t>(rank)]->timeouts[block];
  }

 private:
  template <class Order, class Value>
  int run_block(int rank, int block, int round, const Value& value) {
    // Bytes, as a user's memory need not be aligned.
    const size_t bytes = shape_.count * sizeof(float);
    std::vector<std::byte> from(shape_.shift + bytes);
    std::vector<std::byte> to(shape_.shift + bytes + 1, std::byte{0x5a});
    for (uint64_t i = 0; i < shape_.count; ++i) {
      const float put = value(rank, round, i);
      std::memcpy(from.data() + shape_.shift + i * sizeof put, &put, sizeof put);
    }
    PeerRankMemory& mine = *memory_[static_cast<size_t>(rank)];
    PeerAllReduce call = {.place = {.stop = &stop_,
                                    .timeouts = mine.timeouts,
                                    .patience_ns = shape_.patience_ns,
                                    .rank = rank,
                                    .ranks = shape_.ranks},
                          .from = from.data() + shape_.shift,
                          .to = to.data() + shape_.shift,
                          .count = shape_.count,
                          .tile_elements = shape_.tile_elements,
                          .blocks = shape_.blocks,
                          .one_shot = shape_.one_shot};
    const auto half = static_cast<size_t>(round % 2);
    for (int peer = 0; peer < shape_.ranks; ++peer) {
      PeerRankMemory& memory = *memory_[static_cast<size_t>(peer)];
      call.place.signals[peer] = &memory.signals;
      call.reduction.arrays[peer] = memory.part(half);
      call.results[peer] = memory.part(2 + half);
    }
    call.input = mine.part(half);
    call.reduction.into = mine.part(2 + half);
    call.reduction.count = (shape_.count + 3) / 4 * 4;
    call.reduction.array_count = shape_.ranks;
    call.reduction.second_half = shape_.ranks;
    if (!PeerAllReduceBlock<float, ReduceOp::sum, Order, OneThread>(call, block, OneThread()).run())
      return 1;
    int wrong = to.back() == std::byte{0x5a} ? 0 : 1;
    for (uint64_t i = 0; i < shape_.count; ++i) {
      float got = 0;
      std::memcpy(&got, to.data() + shape_.shift + i * sizeof got, sizeof got);
      const bool mine_to_write = i / shape_.tile_elements % static_cast<uint64_t>(shape_.blocks) ==
                                 static_cast<uint64_t>(block);
      float expected = value(0, round, i);
      for (int peer = 1; peer < shape_.ranks; ++peer)
        expected += value(peer, round, i);
      if (!mine_to_write) std::memset(&expected, 0x5a, sizeof expected);
      wrong += std::memcmp(&got, &expected, sizeof got) == 0 ? 0 : 1;
    }
    return wrong;
  }

  Shape shape_;
  uint32_t stop_ = 0;
  std::vector<std::unique_ptr<PeerRankMemory>> memory_ = {};
};

}  // namespace dt
