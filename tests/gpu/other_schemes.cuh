#pragma once

#include "gpu/kernels/peer_all_reduce.cuh"

namespace dt {

// The schemes of other libraries in code of our own, to be measured beside ours in the same run.

/// Copies of one launch, as Horovod packs tensors.
struct BatchedCopies {
  static constexpr int capacity = 160;
  const std::byte* from[capacity] = {};
  std::byte* to[capacity] = {};
  uint64_t bytes[capacity] = {};
};

/// Each tensor has so many blocks, whatever its size.
inline constexpr unsigned batched_blocks = 8;
inline constexpr unsigned batched_threads = 1024;

template <class Word>
DT_BOTH void copy_words(std::byte* to, const std::byte* from, uint64_t bytes,
                        const GridPlace& place) {
  const uint64_t words = bytes / sizeof(Word);
  for (uint64_t i = place.thread; i < words; i += place.threads)
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
  for (uint64_t i = words * sizeof(Word) + place.thread; i < bytes; i += place.threads)
    to[i] = from[i];
}

/// The part of one thread of a tensor's blocks: in the widest words for which both places are
/// aligned.
DT_BOTH void copy_batched(const BatchedCopies& copies, int tensor, const GridPlace& place) {
  const std::byte* const from = copies.from[tensor];
  std::byte* const to = copies.to[tensor];
  const uint64_t bytes = copies.bytes[tensor];
  const uintptr_t address = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
  if (address % 16 == 0) {
    copy_words<Chunk>(to, from, bytes, place);
  } else if (address % 8 == 0) {
    copy_words<uint64_t>(to, from, bytes, place);
  } else if (address % 4 == 0) {
    copy_words<uint32_t>(to, from, bytes, place);
  } else if (address % 2 == 0) {
    copy_words<uint16_t>(to, from, bytes, place);
  } else {
    copy_words<uint8_t>(to, from, bytes, place);
  }
}

/// One block of a rank in a two-shot all_reduce, as vLLM has it. Each rank combines one part of
/// the elements, and the last one also what is left. The inputs of all ranks are there already, and
/// the count is a multiple of 16 bytes. Both steps give an element to the same block.
template <class T, ReduceOp op, class Order, class Threads>
class PeerPartsBlock {
 public:
  DT_BOTH PeerPartsBlock(const PeerAllReduce& call, int block, const Threads& threads)
      : call_(call), block_(block), threads_(threads) {}

  /// Returns false at every thread when a barrier was not reached.
  DT_BOTH bool run() const {
    if (!meet(PeerPhase::start)) return false;
    for_groups(call_.place.rank, [&](uint64_t group) {
      ReduceStep<T, op, static_cast<int>(width), 1>{call_.reduction, group * width, 0}.run();
    });
    if (!meet(PeerPhase::end)) return false;
    for (int owner = 0; owner < call_.place.ranks; ++owner) {
      for_groups(owner, [&](uint64_t group) {
        const uint64_t at = group * sizeof(Chunk);
        store_chunk(call_.to + at, load_chunk(call_.results[owner] + at));
      });
    }
    return true;
  }

 private:
  static constexpr uint64_t width = ReduceShape<T>::width;
  static constexpr uint64_t stripe = 512;

  DT_BOTH bool meet(PeerPhase phase) const {
    uint32_t& last =
        call_.place.signals[call_.place.rank]->epochs[static_cast<uint32_t>(phase)][block_];
    const uint32_t epoch = last + 1;
    threads_.sync();
    bool met = true;
    threads_.for_each(static_cast<uint64_t>(call_.place.ranks), [&](uint64_t peer) {
      if (static_cast<int>(peer) != call_.place.rank)
        met = meet_peer<Order>(call_.place, block_, phase, epoch, static_cast<int>(peer)) && met;
    });
    met = threads_.all(met);
    threads_.for_each(1, [&](uint64_t) { last = epoch; });
    return met;
  }

  /// Calls function(group) for this block's groups of 16 bytes of a rank's part.
  template <class Function>
  DT_BOTH void for_groups(int owner, const Function& function) const {
    const uint64_t groups = call_.reduction.count / width;
    const uint64_t part = groups / static_cast<uint64_t>(call_.place.ranks);
    const uint64_t begin = static_cast<uint64_t>(owner) * part;
    const uint64_t end = owner + 1 == call_.place.ranks ? groups : begin + part;
    const uint64_t step = static_cast<uint64_t>(call_.blocks) * stripe;
    for (uint64_t at = begin + static_cast<uint64_t>(block_) * stripe; at < end; at += step) {
      const uint64_t left = end - at;
      threads_.for_each(left < stripe ? left : stripe, [&](uint64_t i) { function(at + i); });
    }
  }

  const PeerAllReduce& call_;
  int block_;
  const Threads& threads_;
};

}  // namespace dt
