#pragma once

#include "base/kernels/kernel_set.h"

#include <cfenv>
#include <cstddef>
#include <span>

namespace dt {

// The build chooses cpu_x86_64.cc or cpu_portable.cc for this header.

/// The kernels that this CPU and its operating system can run, fastest first. The portable ones are
/// last.
std::span<const KernelSet* const> usable_kernels();

/// While it lives, its thread rounds to nearest even and computes with subnormal numbers, whatever
/// the program has set. Its end restores the program's modes and its exception flags. Costs some
/// ns.
class DefaultRounding {
 public:
  DefaultRounding();
  ~DefaultRounding();
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  std::fenv_t saved_;
};

/// As memcpy, but past the caches where the CPU can. This is faster where the whole destination is
/// much larger than the caches, even in pieces. It is several times slower where `to` is in a
/// cache. Other threads see the copied bytes as after memcpy.
void copy_past_caches(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace dt
