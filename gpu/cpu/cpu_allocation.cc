#include "gpu/cpu/cpu_allocation.h"

#include "base/format.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>

namespace dt {

namespace {

constexpr std::byte red_zone{0xa5};

size_t changed_bytes(std::span<const std::byte> zone) {
  return zone.size() - static_cast<size_t>(std::ranges::count(zone, red_zone));
}

}  // namespace

Result<std::shared_ptr<CpuAllocation>> CpuAllocation::make(const Terms& terms) {
  const auto no_memory = [&] {
    return fail(Errc::out_of_memory,
                format("cannot allocate {} bytes: this host has no more memory", terms.bytes));
  };
  if (terms.bytes > std::numeric_limits<size_t>::max() / 2) return no_memory();
  try {
    auto storage = std::make_unique_for_overwrite<Block[]>(block_count(terms.bytes));
    return std::shared_ptr<CpuAllocation>(new CpuAllocation(terms, std::move(storage)));
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

CpuAllocation::CpuAllocation(const Terms& terms, std::unique_ptr<Block[]> storage)
    : terms_(terms), storage_(std::move(storage)) {
  std::memset(storage_.get(), static_cast<int>(red_zone), block_count(terms.bytes) * block_bytes);
  std::memset(at(), static_cast<int>(poison), terms.bytes);
}

size_t CpuAllocation::after_bytes() const {
  return (block_count(terms_.bytes) - 1) * block_bytes - terms_.bytes;
}

bool CpuAllocation::covers(const std::byte* address) const {
  const auto begin = reinterpret_cast<uintptr_t>(storage_.get());
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  return wanted >= begin && wanted - begin < block_count(terms_.bytes) * block_bytes;
}

bool CpuAllocation::holds(const std::byte* address, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(at());
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  return wanted >= begin && wanted - begin <= terms_.bytes &&
         bytes <= terms_.bytes - (wanted - begin);
}

std::optional<std::string> CpuAllocation::overrun() const {
  const size_t before = changed_bytes(storage_[0].bytes);
  const size_t after = changed_bytes({at() + terms_.bytes, after_bytes()});
  if (before + after == 0) return std::nullopt;
  return format("a buffer of {} bytes was overrun: {} bytes before it and {} after it have changed",
                terms_.bytes, before, after);
}

}  // namespace dt
