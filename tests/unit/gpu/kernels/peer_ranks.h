#pragma once

#include "gpu/kernels/peer_all_reduce.cuh"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace dt {

/// The threads of a block, one after the other.
struct OneThread {
  template <class Function>
  void for_each(uint64_t count, const Function& function) const {
    for (uint64_t i = 0; i < count; ++i)
      function(i);
  }
  void sync() const {}
  bool all(bool value) const { return value; }
};

/// The memory of a rank that others reach.
struct PeerRankMemory {
  explicit PeerRankMemory(uint64_t count) : chunks(count / 4 * 2) {}
  std::byte* input() { return reinterpret_cast<std::byte*>(chunks.data()); }
  std::byte* result() { return reinterpret_cast<std::byte*>(chunks.data() + chunks.size() / 2); }
  PeerSignals signals = {};
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
  PeerSignals& signals(int rank) { return memory_[static_cast<size_t>(rank)]->signals; }

 private:
  template <class Order, class Value>
  int run_block(int rank, int block, int round, const Value& value) {
    std::vector<float> from(shape_.count);
    std::vector<float> to(shape_.count, -1);
    for (uint64_t i = 0; i < shape_.count; ++i)
      from[i] = value(rank, round, i);
    PeerAllReduce call = {.place = {.stop = &stop_,
                                    .patience_ns = shape_.patience_ns,
                                    .rank = rank,
                                    .ranks = shape_.ranks},
                          .from = reinterpret_cast<const std::byte*>(from.data()),
                          .to = reinterpret_cast<std::byte*>(to.data()),
                          .tile_elements = shape_.tile_elements,
                          .blocks = shape_.blocks};
    for (int peer = 0; peer < shape_.ranks; ++peer) {
      PeerRankMemory& memory = *memory_[static_cast<size_t>(peer)];
      call.place.signals[peer] = &memory.signals;
      call.reduction.arrays[peer] = memory.input();
      call.results[peer] = memory.result();
    }
    call.input = memory_[static_cast<size_t>(rank)]->input();
    call.reduction.into = memory_[static_cast<size_t>(rank)]->result();
    call.reduction.count = shape_.count;
    call.reduction.array_count = shape_.ranks;
    call.reduction.second_half = shape_.ranks;
    if (!PeerAllReduceBlock<float, ReduceOp::sum, Order, OneThread>(call, block, OneThread()).run())
      return 1;
    int wrong = 0;
    for (uint64_t i = 0; i < shape_.count; ++i) {
      float expected = -1;
      const bool mine = i / shape_.tile_elements % static_cast<uint64_t>(shape_.blocks) ==
                        static_cast<uint64_t>(block);
      for (int peer = 0; peer < shape_.ranks && mine; ++peer)
        expected = peer == 0 ? value(0, round, i) : expected + value(peer, round, i);
      wrong += to[i] == expected ? 0 : 1;
    }
    return wrong;
  }

  Shape shape_;
  uint32_t stop_ = 0;
  std::vector<std::unique_ptr<PeerRankMemory>> memory_ = {};
};

}  // namespace dt
