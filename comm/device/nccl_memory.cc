#include "comm/device/nccl_memory.h"

#include <bit>
#include <utility>

namespace dt {

Result<DeviceBuffer> NcclMemory::take(size_t bytes) {
  if (bytes <= shared_bytes_) return DeviceBuffer();
  // Few sizes, so that calls of nearly the same size share memory.
  const size_t size = std::bit_ceil(bytes);
  {
    const std::lock_guard lock(mutex_);
    auto best = unused_.end();
    for (auto next = unused_.begin(); next != unused_.end(); ++next)
      if (next->bytes() >= size && (best == unused_.end() || next->bytes() < best->bytes()))
        best = next;
    if (best != unused_.end()) {
      DeviceBuffer buffer = std::move(*best);
      unused_.erase(best);
      return buffer;
    }
  }
  return device_.allocate(size);
}

void NcclMemory::keep(DeviceBuffer buffer) {
  const std::lock_guard lock(mutex_);
  if (buffer.bytes() > 0) unused_.push_back(std::move(buffer));
}

void NcclMemory::clear() {
  const std::lock_guard lock(mutex_);
  unused_.clear();
}

}  // namespace dt
