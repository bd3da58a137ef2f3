#pragma once

#include "base/clock.h"
#include "comm/memory/shared_heap.h"
#include "comm/memory/shared_line.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace dt {

/// A member's announcement of one collective call, with its input where that is small. Only the
/// member writes it.
struct alignas(shared_line_bytes) Mailbox {
  /// Input up to this size shares the cache line of the announcement.
  static constexpr size_t near_bytes = 32;
  static constexpr size_t input_bytes_max = size_t{8} << 10;

  std::atomic<uint64_t> round;  ///< stored last: the rest is valid for this round
  uint64_t call_hash;           ///< equal on all members, or their calls differ
  int64_t timeout_ns;           ///< of the call; 0: none
  int64_t remaining_ns;         ///< of the timeout
  std::array<std::byte, near_bytes> near;
  alignas(64) std::array<std::byte, input_bytes_max> far;

  /// The announcement of a call whose input may be large. Stored in the place of a small input.
  struct LargeCall {
    static constexpr uint64_t none = UINT64_MAX;
    uint64_t input = none;   ///< the place of its buffer in the host's heap, see DirectTransfer
    uint64_t output = none;  ///< the same of its output
    uint64_t readable = 0;   ///< 1: this member can read the heap
    uint64_t blocks = 0;     ///< the number behind the last block of this member so far
  };
  static_assert(sizeof(LargeCall) <= near_bytes);
  void set_large(const LargeCall& call) { std::memcpy(near.data(), &call, sizeof call); }
  LargeCall large() const {
    LargeCall call;
    std::memcpy(&call, near.data(), sizeof call);
    return call;
  }

  std::byte* input(size_t bytes) { return bytes <= near_bytes ? near.data() : far.data(); }
  const std::byte* input(size_t bytes) const {
    return bytes <= near_bytes ? near.data() : far.data();
  }
};

/// A member's position in the blocks of large collectives, counted from the group's beginning.
/// Only the member writes it.
struct alignas(shared_line_bytes) Progress {
  std::atomic<uint64_t> sent;      ///< blocks of its input that lie in its input slots
  std::atomic<uint64_t> reduced;   ///< blocks whose result lies in its result slots
  std::atomic<uint64_t> received;  ///< blocks that it has copied out of all slots
  std::atomic<uint64_t> aborted;   ///< the round of the last call that it has cancelled
};

/// The number of a round of mailboxes in a group. Each phase that members run in shared memory, as
/// a part of a collective, has one. All members compute the same number, even after a collective
/// that failed.
struct MailboxRound {
  static constexpr uint64_t phases_max = 1024;

  uint64_t number = 0;
  static MailboxRound of(uint64_t sequence, uint64_t phase = 0) {
    return {sequence * phases_max + phase};
  }
  /// Returns the first round of the next collective.
  MailboxRound of_next_call() const { return of(number / phases_max + 1); }
  bool operator==(const MailboxRound&) const = default;
};

/// The memory through which the members of a group on one host run collectives. Each member has a
/// part of its own. The part has mailboxes, one position and a ring of slots, for blocks of input
/// and of results. Zeroed memory is the initial state. Parts of several areas may lie in any order.
///
/// Members use all slots of a ring in turn. On common CPUs, a ring is larger than a core's own
/// cache. So what a member has written has mostly moved to the shared cache when others read it.
/// Reading a line from there is several times faster than from the own cache of another core.
class SharedArea {
 public:
  struct Options {
    std::shared_ptr<void> owner = {};  ///< keeps the memory
    /// By member: at least part_bytes() for as many members, aligned to shared_line_bytes.
    std::vector<std::byte*> parts = {};
    int self = 0;
    std::shared_ptr<SharedHeap> heap = {};  ///< of the members' host; may be null
    int cut_for = 0;                   ///< members for which parts are; 0: as many as there are
    size_t slot_bytes_max = SIZE_MAX;  ///< smaller slots and rings: tests get many blocks
    /// Measures how fast this member writes. Null: it does not, and always writes through caches.
    Time (*clock)() = nullptr;
    /// Wakes the members that sleep. Called after each publication.
    std::function<void()> wake = {};
  };
  explicit SharedArea(Options options);
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  static size_t part_bytes(int members);
  static size_t bytes_for(int members) {
    return static_cast<size_t>(members) * part_bytes(members);
  }
  /// Cuts memory of bytes_for() into the parts of that many members.
  static std::vector<std::byte*> parts_in(std::byte* memory, int members);
  /// Makes a part as new. Requires that no other member uses it.
  static void clear(std::byte* part);
  /// The size of the largest slot: at most 64 KiB, less for many members.
  static size_t slot_bytes_max(int members);

  int members() const { return static_cast<int>(options_.parts.size()); }
  int self() const { return options_.self; }
  size_t slot_bytes_max() const { return slot_bytes_max_; }
  const SharedHeap* heap() const { return options_.heap.get(); }
  /// May be null.
  Time (*clock() const)() { return options_.clock; }

  /// Mailboxes alternate between collectives, and between the phases of one. A member fills one
  /// again two phases later, when all have arrived at the phase between. Or it does so two
  /// collectives later, when all have made the call between. Then none reads it any more.
  Mailbox& mailbox(int member, MailboxRound round) const;
  Progress& progress(int member) const;
  /// How many slots of that size a member has: 8 at least. The size is a power of two, and
  /// slot_bytes_max() at most. Each transfer chooses one size.
  uint64_t slots(size_t slot_bytes) const { return ring_bytes_ / slot_bytes; }
  /// Slots `number` and `number + slots()` are the same.
  std::byte* slot(int member, uint64_t number, size_t slot_bytes) const;

  /// Stores a position of this member after all that it has written, and wakes the others.
  void publish(std::atomic<uint64_t>& position, uint64_t value) const {
    store(position, value);
    wake_others();
  }
  /// The first half of publish(). It does not wait until other processors have lost the line.
  static void store(std::atomic<uint64_t>& position, uint64_t value) {
    position.store(value, std::memory_order_release);
  }
  /// The second half, which must follow before this member waits or sleeps.
  void wake_others() const;
  /// Fetches this member's mailbox for a round, to write an announcement with `bytes` of input
  /// there soon. Requires that no member reads the mailbox any more.
  void fetch_mailbox(MailboxRound round, size_t bytes) const;
  /// Returns a number that differs when another member has published since the last call. Ordered
  /// after earlier sequentially consistent stores, as sleeping needs it (see shm_ring.h).
  uint64_t published_by_others() const;

 private:
  struct Member;
  Member& member(int index) const;
  int cut_for() const { return options_.cut_for == 0 ? members() : options_.cut_for; }

  Options options_;
  size_t slot_bytes_max_;
  size_t ring_bytes_;
};

}  // namespace dt
