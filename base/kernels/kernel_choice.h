#pragma once

#include "base/kernels/kernel_set.h"
#include "base/result.h"

#include <string_view>

namespace dt {

/// The kernels of this process: the fastest that its CPU can run, until use_kernels() names others.
const KernelSet& kernels();

/// From now on, this process uses the kernels of that name: "avx512", "avx2" or "portable". Fails
/// with Errc::input for another name, and where this CPU cannot run them.
Result<> use_kernels(std::string_view name);

}  // namespace dt
