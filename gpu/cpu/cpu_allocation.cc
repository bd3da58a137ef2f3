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
  std::shared_ptr<CpuAllocation> made(new CpuAllocation(terms));
  TRY(made->take_storage());
  std::memset(made->storage_, static_cast<int>(red_zone), block_count(terms.bytes) * block_bytes);
  std::memset(made->at(), static_cast<int>(poison), terms.bytes);
  return made;
}

Result<> CpuAllocation::take_storage() {
  const auto no_memory = [this] {
    return fail(Errc::out_of_memory,
                format("cannot allocate {} bytes: this host has no more memory", terms_.bytes));
  };
  if (terms_.bytes > std::numeric_limits<size_t>::max() / 2) return no_memory();
  if (terms_.shared) {
    shared_ = TRY(CpuSharedMemory::create(block_count(terms_.bytes) * block_bytes));
    storage_ = reinterpret_cast<Block*>(shared_->at());
    return {};
  }
  try {
    own_ = std::make_unique_for_overwrite<Block[]>(block_count(terms_.bytes));
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  storage_ = own_.get();
  return {};
}

std::span<std::byte> CpuAllocation::within(const CpuSharedMemory& memory) {
  if (memory.bytes() < 2 * block_bytes) return {};
  return {memory.at() + block_bytes, memory.bytes() - 2 * block_bytes};
}

size_t CpuAllocation::after_bytes() const {
  return (block_count(terms_.bytes) - 1) * block_bytes - terms_.bytes;
}

bool CpuAllocation::covers(const std::byte* address) const {
  const auto begin = reinterpret_cast<uintptr_t>(storage_);
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
