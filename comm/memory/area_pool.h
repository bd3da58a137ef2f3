#pragma once

#include "comm/memory/shared_area.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace dt {

/// The memory for the areas of groups among the tasks of one host. Each task has a few parts. It
/// reserves one for a new group, and tells the other members its place. So the members' parts of an
/// area lie in any of their places. Groups without a common member know nothing of each other.
///
/// A task uses a part again when all members on its host have left the group that used it. Each
/// part has a ticket, which only its task writes: not zero while its group uses it.
///
/// Any thread may call any function.
class AreaPool {
 public:
  static constexpr int parts_max = 16;  ///< of each task

  /// In memory that all tasks of the host share. Zeroed memory is the initial state.
  struct Tickets {
    alignas(shared_line_bytes) std::array<std::atomic<uint64_t>, parts_max> of_part;
  };

  struct Options {
    std::shared_ptr<void> owner = {};  ///< keeps the memory
    std::span<Tickets> tickets = {};   ///< by slot
    std::byte* memory = nullptr;       ///< bytes_for(slots)
    int own_slot = 0;
    int parts = parts_max;                  ///< that this task uses
    std::shared_ptr<SharedHeap> heap = {};  ///< of the host; may be null
    size_t slot_bytes_max = SIZE_MAX;       ///< as in SharedArea
    Time (*clock)() = nullptr;              ///< as in SharedArea
    /// Makes sure that these bytes of `memory` exist; false when memory is short. Empty: they do.
    std::function<bool(size_t begin, size_t bytes)> back = {};
    std::function<void(int slot)> wake = {};
  };
  explicit AreaPool(Options options);
  AreaPool(const AreaPool&) = delete;
  AreaPool& operator=(const AreaPool&) = delete;

  static size_t part_bytes(int slots) { return 2 * SharedArea::part_bytes(slots); }
  static size_t bytes_for(int slots) {
    return static_cast<size_t>(slots) * parts_max * part_bytes(slots);
  }

  /// Reserves a part and returns its place; -1 when there is none.
  int reserve();
  /// Called when this task has left the group, or is in none.
  void release(int place);

  struct Areas {
    std::shared_ptr<SharedArea> unnamed;
    std::shared_ptr<SharedArea> named;  ///< for collectives with a name
  };
  /// Makes the areas of a group. `places` are those of its members on this host, in the order of
  /// their ranks. `self` is the index of this task's own place.
  Areas make(std::span<const int> places, int self);

  /// Returns a number, as SharedArea::published_by_others(). It differs when another task has
  /// published in one of the areas since the last call.
  uint64_t published_by_others() const;

 private:
  /// A part of this task.
  struct Own {
    bool backed = false;
    Areas areas = {};
    /// The tickets of the other members when the group was made.
    std::vector<std::pair<const std::atomic<uint64_t>*, uint64_t>> others = {};
  };
  int slots() const { return static_cast<int>(options_.tickets.size()); }
  std::atomic<uint64_t>& ticket(int place) const;
  std::byte* part(int place) const;
  bool is_free(int index) const;
  std::shared_ptr<SharedArea> area(std::span<const int> places, int self, bool named) const;

  Options options_;
  mutable std::mutex mutex_;
  std::array<Own, parts_max> own_ = {};
  uint64_t last_ticket_ = 0;
  uint64_t retired_ = 0;  ///< what others had published in areas that are released
};

}  // namespace dt
