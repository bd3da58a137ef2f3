#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace dt {

/// The order of a rank's calls that NCCL runs, which must be the same on all ranks. For one thread
/// at a time.
///
/// All ranks make calls without a name in one order, in which NCCL runs them while there are no
/// others. Calls by name come in any order. When some rank has made one, rank 0 gives a slot to
/// each call of both kinds. The vote on a call informs the ranks of that.
///
/// A rank wishes that NCCL runs its calls by name when all its calls without a slot have begun. So
/// these are first on all ranks.
class NcclOrder {
 public:
  /// Called when this rank makes a call by name, by any thread, or when another one has.
  void use_slots() { uses_slots_.store(true, std::memory_order_relaxed); }
  bool uses_slots() const { return uses_slots_.load(std::memory_order_relaxed); }

  /// Returns what stands for a call that may have no slot, until it has begun or will not begin.
  std::shared_ptr<void> begin_without_slot() { return pending_; }
  bool all_without_slots_begun() const { return pending_.use_count() == 1; }

  /// Returns a name by which the ranks agree on the slot of the next call without a name.
  std::string next_call_name(const std::string& name);

 private:
  std::atomic<bool> uses_slots_ = false;
  std::shared_ptr<void> pending_ = std::make_shared<char>();
  uint64_t calls_ = 0;
};

}  // namespace dt
