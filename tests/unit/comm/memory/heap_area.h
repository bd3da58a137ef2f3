#pragma once

#include "comm/memory/shared_area.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace dt {

/// Memory of this process in the place of a host's shared memory, for members in one process.
class HeapArea {
 public:
  explicit HeapArea(int members, size_t slot_bytes_max = SIZE_MAX)
      : members_(members),
        slot_bytes_max_(slot_bytes_max),
        memory_(new(alignment) std::byte[SharedArea::bytes_for(members)], Free()) {
    for (std::byte* part : parts())
      SharedArea::clear(part);
  }

  std::vector<std::byte*> parts() const { return SharedArea::parts_in(memory_.get(), members_); }
  /// Returns the area as this member sees it.
  std::shared_ptr<SharedArea> of(int member, Time (*clock)() = nullptr,
                                 std::function<void()> wake = {}) const {
    return std::make_shared<SharedArea>(SharedArea::Options{.owner = memory_,
                                                            .parts = parts(),
                                                            .self = member,
                                                            .slot_bytes_max = slot_bytes_max_,
                                                            .clock = clock,
                                                            .wake = std::move(wake)});
  }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }
  };

  int members_;
  size_t slot_bytes_max_;
  std::shared_ptr<std::byte[]> memory_;
};

}  // namespace dt
