#pragma once

#include "gpu/kernels/peer_signals.cuh"
#include "gpu/kernels/reduce_kernel.cuh"

namespace dt {

/// The part of a PeerAllReduce that a kernel makes: all of it, or, where the streams of the ranks
/// wait for each other in the place of kernels, one of three. The streams wait before the last one.
enum class PeerStep : uint32_t {
  all,
  copy_in,
  announce,  ///< by one block: tells the others that the input is there
  reduce,
};

/// An all_reduce by kernels of all ranks that read each other's memory. Every rank has the same
/// count, tile size, number of blocks and way.
struct PeerAllReduce {
  PeerPlace place = {};
  const std::byte* from = nullptr;  ///< at any address, as `to`
  std::byte* to = nullptr;          ///< may equal `from`
  uint64_t count = 0;               ///< elements of both
  std::byte* input = nullptr;       ///< of this rank: the array of its number in `reduction`
  const std::byte* results[peer_ranks_max] = {};  ///< of all ranks
  /// Reduces all ranks' inputs into the results of this one, in the order of ranks. Inputs and
  /// results lie in memory that all ranks can read, aligned to 16 bytes. Their count is the next
  /// multiple of 16 bytes.
  ReduceArguments reduction = {};
  uint64_t tile_elements = 0;  ///< a multiple of 16 bytes
  int blocks = 1;
  bool one_shot = false;  ///< always with a step but `all`
  PeerStep step = PeerStep::all;
  uint32_t epoch = 0;  ///< of `announce`: the number of the sum
};

/// One block of a rank. At every rank, the tiles t with t % blocks == block belong to this block,
/// so that the blocks of the other ranks that it waits for have written all data that it reads. A
/// two-shot call has three steps, with a barrier after the first and the second:
///
/// - It copies its tiles to the inputs of its rank.
/// - Rank `(t / blocks + block) % ranks` combines tile t of these into its results, from all inputs
///   in the order of ranks.
/// - It copies each tile from the results of the rank that has combined it.
///
/// In a one-shot call, each rank combines all tiles, and needs no second barrier. A peer may still
/// read the inputs after the call, so the next call must have others. The call after that one may
/// have the same inputs again: it begins when all peers have begun the next call, and so have ended
/// this one.
///
/// `Threads` has for_each(n, function), sync() and all(bool). The first calls function(i) for all i
/// below n on the threads of the block. The last is true at every thread if it is true at all.
template <class T, ReduceOp op, class Order, class Threads>
class PeerAllReduceBlock {
 public:
  DT_BOTH PeerAllReduceBlock(const PeerAllReduce& call, int block, const Threads& threads)
      : call_(call), block_(block), threads_(threads) {}

  /// Returns false at every thread when a barrier was not reached, in this call or an earlier one.
  /// The collective has no result then.
  DT_BOTH bool run() const {
    bool usable = true;
    threads_.for_each(1, [&](uint64_t) { usable = SystemOrder::acquire(&mine().failed) == 0; });
    if (!threads_.all(usable)) return false;
    if (call_.step == PeerStep::announce) return announce();
    if (call_.step != PeerStep::reduce) copy_in();
    if (call_.step == PeerStep::copy_in) return true;
    if (call_.step == PeerStep::all && !meet(PeerPhase::start)) return false;
    reduce(call_.one_shot ? every_rank : call_.place.rank);
    if (call_.one_shot) {
      copy_out(call_.place.rank, every_rank);
    } else {
      if (!meet(PeerPhase::end)) return false;
      for (int owner = 0; owner < call_.place.ranks; ++owner)
        copy_out(owner, owner);
    }
    return true;
  }

 private:
  static constexpr uint64_t width = ReduceShape<T>::width;
  static constexpr int every_rank = -1;

  DT_BOTH PeerSignals& mine() const { return *call_.place.signals[call_.place.rank]; }

  DT_BOTH bool announce() const {
    threads_.for_each(static_cast<uint64_t>(call_.place.ranks), [&](uint64_t peer) {
      if (static_cast<int>(peer) == call_.place.rank) return;
      uint32_t* const flag =
          &call_.place.signals[peer]
               ->flags[static_cast<uint32_t>(PeerPhase::start)][0][call_.place.rank];
      // The peer sets it ahead to end its waits (PeerMemory::stop()).
      if (peer_reached(Order::acquire(flag), call_.epoch)) return;
      Order::release(flag, call_.epoch);
      wake_after_release(flag);
    });
    return true;
  }

  DT_BOTH bool meet(PeerPhase phase) const {
    uint32_t& last = mine().epochs[static_cast<uint32_t>(phase)][block_];
    const uint32_t epoch = last + 1;
    threads_.sync();
    bool met = true;
    threads_.for_each(static_cast<uint64_t>(call_.place.ranks), [&](uint64_t peer) {
      if (static_cast<int>(peer) != call_.place.rank)
        met = meet_peer<Order>(call_.place, block_, phase, epoch, static_cast<int>(peer)) && met;
    });
    met = threads_.all(met);
    threads_.for_each(1, [&](uint64_t) {
      last = epoch;
      if (!met) SystemOrder::release(&mine().failed, 1);
    });
    return met;
  }

  /// Calls function(group) for the groups of 16 bytes of each tile of this block that `owner`
  /// combines.
  template <class Function>
  DT_BOTH void for_groups(int owner, const Function& function) const {
    const uint64_t tile_groups = call_.tile_elements / width;
    const uint64_t groups = call_.reduction.count / width;
    const auto blocks = static_cast<uint64_t>(call_.blocks);
    const auto ranks = static_cast<uint64_t>(call_.place.ranks);
    for (uint64_t tile = static_cast<uint64_t>(block_); tile * tile_groups < groups;
         tile += blocks) {
      const uint64_t combined_by = (tile / blocks + static_cast<uint64_t>(block_)) % ranks;
      if (owner != every_rank && combined_by != static_cast<uint64_t>(owner)) continue;
      const uint64_t begin = tile * tile_groups;
      const uint64_t left = groups - begin;
      threads_.for_each(left < tile_groups ? left : tile_groups,
                        [&](uint64_t group) { function(begin + group); });
    }
  }
  /// Zeros follow the last element.
  DT_BOTH void copy_in() const {
    for_groups(every_rank, [&](uint64_t group) {
      const uint64_t at = group * sizeof(Chunk);
      store_chunk(call_.input + at, load_bytes(call_.from + at, bytes_behind(at)));
    });
  }
  DT_BOTH void copy_out(int rank, int owner) const {
    for_groups(owner, [&](uint64_t group) {
      const uint64_t at = group * sizeof(Chunk);
      store_bytes(call_.to + at, load_chunk(call_.results[rank] + at), bytes_behind(at));
    });
  }
  DT_BOTH uint64_t bytes_behind(uint64_t at) const { return call_.count * sizeof(T) - at; }
  /// Where the number of ranks is known, one round trip to the peers brings all their elements.
  DT_BOTH void reduce(int owner) const {
    switch (call_.place.ranks) {
      case 2:
        return reduce_ranks<2>(owner);
      case 4:
        return reduce_ranks<4>(owner);
      case 8:
        return reduce_ranks<8>(owner);
      default:
        return reduce_ranks<0>(owner);
    }
  }
  template <int known>
  DT_BOTH void reduce_ranks(int owner) const {
    for_groups(owner, [&](uint64_t group) {
      ReduceStep<T, op, static_cast<int>(width), 1, known>{call_.reduction, group * width, 0}.run();
    });
  }

  const PeerAllReduce& call_;
  int block_;
  const Threads& threads_;
};

}  // namespace dt
