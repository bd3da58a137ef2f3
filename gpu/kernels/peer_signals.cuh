#pragma once

#include "gpu/kernels/device_code.cuh"

#ifndef __CUDA_ARCH__
#include <chrono>
#include <thread>
#endif

namespace dt {

// Flags by which the ranks of one host order their accesses to each other's memory without the
// host's help. Block b of a rank talks to block b of the others only.

inline constexpr int peer_ranks_max = 16;
inline constexpr int peer_blocks_max = 64;

/// The two barriers of a collective. They have flags of their own, so that a fast rank cannot
/// overrun a slow one.
enum class PeerPhase : uint32_t { start, end };

/// Why a block has ended its wait. All zero: it has not.
struct PeerTimeout {
  uint32_t ended = 0;  ///< 1: the deadline passed, 2: the host has asked for the end
  uint32_t peer = 0;   ///< one that was missing
  uint32_t phase = 0;
  uint32_t epoch = 0;
};

/// The flags of a rank, in memory that all ranks can write. Zero at first. A flag is the number of
/// the last collective that the peer has reached; it only grows, and wraps.
struct alignas(128) PeerSignals {
  uint32_t flags[2][peer_blocks_max][peer_ranks_max] = {};  ///< by phase, block and sending rank
  uint32_t epochs[peer_blocks_max] = {};                    ///< of collectives; for its own blocks
  PeerTimeout timeouts[peer_blocks_max] = {};
};

/// The accesses to flags. Writes before a release are seen after the acquire of its flag, on all
/// devices and the host.
struct SystemOrder {
  DT_BOTH static void release(uint32_t* flag, uint32_t value) {
#ifdef __CUDA_ARCH__
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
#else
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
#endif
  }
  DT_BOTH static uint32_t acquire(const uint32_t* flag) {
#ifdef __CUDA_ARCH__
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
#else
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
#endif
  }
};

/// Nanoseconds of a clock that only grows.
DT_BOTH uint64_t peer_clock_ns() {
#ifdef __CUDA_ARCH__
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
#endif
}

/// The place of a rank among the ranks, and the limits of its waits.
struct PeerPlace {
  PeerSignals* signals[peer_ranks_max] = {};  ///< of all ranks, as this rank reaches them
  const uint32_t* stop = nullptr;             ///< not zero: the host asks for the end
  uint64_t patience_ns = 0;                   ///< for each barrier
  int rank = 0;
  int ranks = 1;
};

/// True when a flag has reached an epoch, also past the wrap.
DT_BOTH bool peer_reached(uint32_t flag, uint32_t epoch) {
  return static_cast<int32_t>(flag - epoch) >= 0;
}

/// Sends the epoch to one peer and waits for its. Returns false after the deadline or a stop, and
/// notes the reason. Never waits longer, and never ends the kernel.
template <class Order>
DT_BOTH bool meet_peer(const PeerPlace& place, int block, PeerPhase phase, uint32_t epoch,
                       int peer) {
  const auto index = static_cast<uint32_t>(phase);
  PeerSignals& mine = *place.signals[place.rank];
  Order::release(&place.signals[peer]->flags[index][block][place.rank], epoch);
  const uint32_t* const flag = &mine.flags[index][block][peer];
  const uint64_t begin = peer_clock_ns();
  for (uint32_t polls = 1; !peer_reached(Order::acquire(flag), epoch); ++polls) {
#ifndef __CUDA_ARCH__
    std::this_thread::yield();
#endif
    if (polls % 1024 != 0) continue;
    const bool stopped = SystemOrder::acquire(place.stop) != 0;
    if (!stopped && peer_clock_ns() - begin < place.patience_ns) continue;
    mine.timeouts[block] = {stopped ? 2U : 1U, static_cast<uint32_t>(peer), index, epoch};
    return false;
  }
  return true;
}

}  // namespace dt
