#pragma once

#include "base/format.h"
#include "gpu/cpu/cpu_world.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// One range of memory that a call reads or writes.
struct AccessedRange {
  const std::byte* at = nullptr;
  size_t bytes = 0;
  const char* role = "";              ///< for messages: "the result", "source"
  std::optional<size_t> number = {};  ///< among those of this role

  std::string text() const { return number ? format("{} {}", role, *number) : role; }
};

/// The memory that one call uses, either copied or by a kernel. It is checked when the call is
/// made, and again when it runs.
class CpuAccesses {
 public:
  /// For calls on this device.
  CpuAccesses(CpuWorld& world, int device) : world_(world), device_(device) {}

  /// Any memory. Fails with Errc::input for a range beyond its buffer and for freed memory.
  Result<> add_copied(const AccessedRange& range);
  /// Fails with Errc::input also for memory that kernels of this device cannot access.
  Result<> add_for_kernel(const AccessedRange& range);
  /// Fails when memory was freed since.
  Result<> still_valid() const;

 private:
  bool is_known(const AccessedRange& range) const;
  Result<CpuMemory::Allocation> find(const AccessedRange& range) const;

  CpuWorld& world_;
  int device_;
  std::vector<CpuMemory::Allocation> allocations_ = {};
};

}  // namespace dt
