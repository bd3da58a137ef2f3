#include "gpu/cpu/cpu_memory.h"

#include "base/format.h"

#include <functional>

namespace dt {

Result<CpuMemory::Allocation> CpuMemory::allocate(const CpuAllocation::Terms& terms) {
  const std::lock_guard lock(mutex_);
  size_t& used = used_[static_cast<size_t>(terms.device)];
  if (!terms.pinned && terms.bytes > device_bytes_ - used) {
    return fail(Errc::out_of_memory, format("cannot allocate {} bytes: {} of {} bytes are free",
                                            terms.bytes, device_bytes_ - used, device_bytes_));
  }
  Allocation allocation = TRY(CpuAllocation::make(terms));
  if (!terms.pinned) used += terms.bytes;
  live_.emplace(allocation->at(), allocation);
  return allocation;
}

std::optional<std::string> CpuMemory::free(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  const CpuAllocation::Terms& terms = allocation->terms();
  allocation->mark_freed();
  if (!terms.pinned) used_[static_cast<size_t>(terms.device)] -= terms.bytes;
  live_.erase(allocation->at());
  freed_.push_back(allocation);
  freed_bytes_ += terms.bytes;
  while (freed_bytes_ > freed_bytes_max || freed_.size() > freed_count_max) {
    freed_bytes_ -= freed_.front()->terms().bytes;
    freed_.pop_front();
  }
  return allocation->overrun();
}

DeviceMemory CpuMemory::of_device(int device) const {
  const std::lock_guard lock(mutex_);
  return {.total_bytes = device_bytes_,
          .free_bytes = device_bytes_ - used_[static_cast<size_t>(device)]};
}

CpuMemory::Allocation CpuMemory::find(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  // The red zone before a first byte belongs to the next allocation.
  const auto next = live_.upper_bound(address);
  if (next != live_.end() && next->second->covers(address)) return next->second;
  if (next != live_.begin() && std::prev(next)->second->covers(address))
    return std::prev(next)->second;
  for (const Allocation& allocation : freed_)
    if (allocation->covers(address)) return allocation;
  return nullptr;
}

std::optional<std::string> CpuMemory::find_overrun(int device) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, allocation] : live_) {
    if (allocation->terms().device != device) continue;
    if (auto overrun = allocation->overrun()) return overrun;
  }
  return std::nullopt;
}

}  // namespace dt
