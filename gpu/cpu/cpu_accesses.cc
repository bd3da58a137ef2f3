#include "gpu/cpu/cpu_accesses.h"

#include <algorithm>
#include <span>

namespace dt {

/// True when one of the last allocations holds the range, as most pieces of a batch lie in two.
bool CpuAccesses::is_known(const AccessedRange& range) const {
  const std::span all(allocations_);
  return std::ranges::any_of(all.last(std::min<size_t>(2, all.size())), [&](const auto& last) {
    return !last->freed() && last->holds(range.at, range.bytes);
  });
}

Result<CpuMemory::Allocation> CpuAccesses::find(const AccessedRange& range) const {
  CpuMemory::Allocation found = world_.memory().find(range.at);
  if (found == nullptr) return found;
  if (found->freed()) return fail(Errc::input, format("{} was freed", range.text()));
  if (!found->holds(range.at, range.bytes)) {
    return fail(Errc::input, format("{} has {} bytes, which reach beyond a buffer of {} bytes",
                                    range.text(), range.bytes, found->terms().bytes));
  }
  return found;
}

Result<> CpuAccesses::add_copied(const AccessedRange& range) {
  if (range.bytes == 0) return {};
  if (range.at == nullptr) return fail(Errc::input, format("{} is null", range.text()));
  if (is_known(range)) return {};
  if (CpuMemory::Allocation found = TRY(find(range))) allocations_.push_back(std::move(found));
  return {};
}

Result<> CpuAccesses::add_for_kernel(const AccessedRange& range) {
  if (range.bytes == 0 || is_known(range)) return {};
  const auto cannot_access = [&](std::string_view place) {
    return fail(Errc::input, format("{} lies in {}, which {} cannot access", range.text(), place,
                                    CpuWorld::name_of_device(device_)));
  };
  CpuMemory::Allocation found = TRY(find(range));
  if (found == nullptr) return cannot_access("pageable memory of the host");
  const CpuAllocation::Terms& terms = found->terms();
  if (!terms.pinned && !world_.can_access(device_, terms.device))
    return cannot_access(format("memory of {}", CpuWorld::name_of_device(terms.device)));
  if (terms.pooled && terms.device != device_)
    return cannot_access(format("a pool of {}", CpuWorld::name_of_device(terms.device)));
  allocations_.push_back(std::move(found));
  return {};
}

Result<> CpuAccesses::still_valid() const {
  for (const CpuMemory::Allocation& allocation : allocations_) {
    if (allocation->freed())
      return fail(Errc::os, format("a buffer of {} bytes was freed before the call ran",
                                   allocation->terms().bytes));
  }
  return {};
}

}  // namespace dt
