#pragma once

#include "comm/memory/area_pool.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace dt {

/// The pools of a host's tasks, in memory of this process.
class HeapPool {
 public:
  explicit HeapPool(int slots, size_t slot_bytes_max = SIZE_MAX)
      : slot_bytes_max_(slot_bytes_max), memory_(std::make_shared<Memory>(slots)) {}

  std::shared_ptr<AreaPool> of(int slot, int parts = AreaPool::parts_max,
                               std::function<bool(size_t begin, size_t bytes)> back = {},
                               std::function<void(int slot)> wake = {}) const {
    return std::make_shared<AreaPool>(AreaPool::Options{.owner = memory_,
                                                        .tickets = memory_->tickets,
                                                        .memory = memory_->parts.get(),
                                                        .own_slot = slot,
                                                        .parts = parts,
                                                        .slot_bytes_max = slot_bytes_max_,
                                                        .back = std::move(back),
                                                        .wake = std::move(wake)});
  }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }
  };
  struct Memory {
    explicit Memory(int slots)
        : tickets(static_cast<size_t>(slots)),
          parts(new(alignment) std::byte[AreaPool::bytes_for(slots)]) {}
    std::vector<AreaPool::Tickets> tickets;
    std::unique_ptr<std::byte[], Free> parts;  ///< not set to zero: what no group uses has no pages
  };

  size_t slot_bytes_max_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace dt
