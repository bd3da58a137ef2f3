#pragma once

#include "gpu/kernels/peer_signals.cuh"
#include "gpu/kernels/reduce_kernel.cuh"

namespace dt {

/// An all_reduce by kernels of all ranks that read each other's memory. Every rank has the same
/// count, tile size and number of blocks.
struct PeerAllReduce {
  PeerPlace place = {};
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::byte* input = nullptr;  ///< of this rank: the array of its number in `reduction`
  const std::byte* results[peer_ranks_max] = {};  ///< of all ranks
  /// Reduces all ranks' inputs into the results of this one. Inputs and results lie in memory that
  /// all ranks can read, aligned to 16 bytes. Their count is a multiple of 16 bytes.
  ReduceArguments reduction = {};
  uint64_t tile_elements = 0;  ///< a multiple of 16 bytes
  int blocks = 1;
};

/// One block of a rank, in three steps with a barrier after the first and the second. Tiles t with
/// t % blocks == block are its own at every rank. So the blocks that it met have written what it
/// reads.
///
/// - It copies its tiles to the inputs of its rank.
/// - Rank `(t / blocks) % ranks` combines tile t of these from all inputs, in the order of ranks,
///   into its results.
/// - It copies each tile from the results of the rank that has combined it.
///
/// `Threads` has for_each(n, function), sync() and all(bool). The first calls function(i) for all i
/// below n on the threads of the block. The last is true at every thread if it is true at all.
template <class T, ReduceOp op, class Order, class Threads>
class PeerAllReduceBlock {
 public:
  DT_BOTH PeerAllReduceBlock(const PeerAllReduce& call, int block, const Threads& threads)
      : call_(call), block_(block), threads_(threads) {}

  /// Returns false at every thread when a barrier was not reached. The collective has no result
  /// then, and the signals are unusable.
  DT_BOTH bool run() const {
    PeerSignals& mine = *call_.place.signals[call_.place.rank];
    const uint32_t epoch = mine.epochs[block_] + 1;
    copy(call_.from, call_.input, -1);
    if (!meet(PeerPhase::start, epoch)) return false;
    reduce();
    if (!meet(PeerPhase::end, epoch)) return false;
    for (int owner = 0; owner < call_.place.ranks; ++owner)
      copy(call_.results[owner], call_.to, owner);
    threads_.for_each(1, [&](uint64_t) { mine.epochs[block_] = epoch; });
    return true;
  }

 private:
  static constexpr uint64_t width = ReduceShape<T>::width;

  DT_BOTH bool meet(PeerPhase phase, uint32_t epoch) const {
    threads_.sync();
    bool met = true;
    threads_.for_each(static_cast<uint64_t>(call_.place.ranks), [&](uint64_t peer) {
      if (static_cast<int>(peer) != call_.place.rank)
        met = meet_peer<Order>(call_.place, block_, phase, epoch, static_cast<int>(peer)) && met;
    });
    return threads_.all(met);
  }

  /// Calls function(group) for the groups of 16 bytes of each tile of this block that `owner`
  /// combines. With -1, does so for all its tiles.
  template <class Function>
  DT_BOTH void for_groups(int owner, const Function& function) const {
    const uint64_t tile_groups = call_.tile_elements / width;
    const uint64_t groups = call_.reduction.count / width;
    const auto blocks = static_cast<uint64_t>(call_.blocks);
    const auto ranks = static_cast<uint64_t>(call_.place.ranks);
    for (uint64_t tile = static_cast<uint64_t>(block_); tile * tile_groups < groups;
         tile += blocks) {
      if (owner >= 0 && tile / blocks % ranks != static_cast<uint64_t>(owner)) continue;
      const uint64_t begin = tile * tile_groups;
      const uint64_t left = groups - begin;
      threads_.for_each(left < tile_groups ? left : tile_groups,
                        [&](uint64_t group) { function(begin + group); });
    }
  }
  DT_BOTH void copy(const std::byte* from, std::byte* to, int owner) const {
    for_groups(owner, [&](uint64_t group) {
      store_chunk(to + group * sizeof(Chunk), load_chunk(from + group * sizeof(Chunk)));
    });
  }
  DT_BOTH void reduce() const {
    for_groups(call_.place.rank, [&](uint64_t group) {
      ReduceStep<T, op, static_cast<int>(width), 1>{call_.reduction, group * width, 0}.run();
    });
  }

  const PeerAllReduce& call_;
  int block_;
  const Threads& threads_;
};

}  // namespace dt
