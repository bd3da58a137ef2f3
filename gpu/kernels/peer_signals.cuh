#pragma once

#include "gpu/kernels/system_order.cuh"

#ifndef __CUDA_ARCH__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <limits>
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

/// Why a block has ended its wait, for the host. All zero: it has not.
struct PeerTimeout {
  uint32_t ended = 0;  ///< 1: the deadline passed, 2: the host has asked for the end
  uint32_t peer = 0;   ///< one that was missing
  uint32_t phase = 0;
  uint32_t epoch = 0;
};

/// The flags of a rank, in memory that all ranks can write. Zero at first. A flag is the number of
/// the last collective that the peer has reached. It grows, and wraps. Where streams wait, the host
/// of a rank sets its flags far ahead to end that.
struct alignas(128) PeerSignals {
  uint32_t flags[2][peer_blocks_max][peer_ranks_max] = {};  ///< by phase, block and sending rank
  uint32_t epochs[2][peer_blocks_max] = {};  ///< the last flags that its own blocks have sent
  /// Not zero: a block has not met a peer, or the host has ended the waiting of streams. Later
  /// kernels of this rank do nothing, so that a late peer finds what this rank has announced.
  uint32_t failed = 0;
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
  PeerTimeout* timeouts = nullptr;            ///< of its blocks, where the host reads them
  uint64_t patience_ns = 0;                   ///< for each barrier
  int rank = 0;
  int ranks = 1;
};

/// True when a flag has reached an epoch, also past the wrap.
DT_BOTH bool peer_reached(uint32_t flag, uint32_t epoch) {
  return static_cast<int32_t>(flag - epoch) >= 0;
}

#ifdef __CUDA_ARCH__
inline constexpr uint32_t polls_per_check = 1024;
#else
inline constexpr uint32_t polls_per_check = 16;
/// So many polls yield the core, and those after them sleep. A thread that yields for long keeps
/// other processes from running, for seconds under some kernels.
inline constexpr uint32_t yields_max = 64;
#endif

/// Passes a moment after a poll that has found this value.
DT_BOTH void pause_after_poll([[maybe_unused]] const uint32_t* flag,
                              [[maybe_unused]] uint32_t value, [[maybe_unused]] uint32_t polls) {
#ifndef __CUDA_ARCH__
  if (polls <= yields_max) {
    std::this_thread::yield();
  } else {
    const std::timespec at_most = {.tv_sec = 0, .tv_nsec = 1'000'000};
    syscall(SYS_futex, flag, FUTEX_WAIT, value, &at_most, nullptr, 0);
  }
#endif
}

/// Wakes a peer that sleeps in a pause. Called after a new value of the flag.
DT_BOTH void wake_after_release([[maybe_unused]] uint32_t* flag) {
#ifndef __CUDA_ARCH__
  syscall(SYS_futex, flag, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
#endif
}

/// Sends the epoch to one peer and waits for its. Returns false after the deadline or a stop, and
/// notes the reason. Never waits longer, and never ends the kernel.
template <class Order>
DT_BOTH bool meet_peer(const PeerPlace& place, int block, PeerPhase phase, uint32_t epoch,
                       int peer) {
  const auto index = static_cast<uint32_t>(phase);
  PeerSignals& mine = *place.signals[place.rank];
  uint32_t* const sent = &place.signals[peer]->flags[index][block][place.rank];
  Order::release(sent, epoch);
  wake_after_release(sent);
  const uint32_t* const flag = &mine.flags[index][block][peer];
  const uint64_t begin = peer_clock_ns();
  uint32_t seen = Order::acquire(flag);
  for (uint32_t polls = 1; !peer_reached(seen, epoch); ++polls, seen = Order::acquire(flag)) {
    pause_after_poll(flag, seen, polls);
    if (polls % polls_per_check != 0) continue;
    const bool stopped = SystemOrder::acquire(place.stop) != 0;
    if (!stopped && peer_clock_ns() - begin < place.patience_ns) continue;
    PeerTimeout& timeout = place.timeouts[block];
    timeout.peer = static_cast<uint32_t>(peer);
    timeout.phase = index;
    timeout.epoch = epoch;
    SystemOrder::release(&timeout.ended, stopped ? 2U : 1U);
    return false;
  }
  return true;
}

}  // namespace dt
