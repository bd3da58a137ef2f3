#pragma once

#include "base/kernels/kernel_set.h"

#include <cstddef>

namespace dt {

/// Copies between ranges that are equal, or do not overlap. Null pointers are fine where there is
/// nothing to copy.
///
/// From some KiB on, memcpy of glibc uses a repeated instruction (`rep movsb`). If `to` is a few
/// bytes behind `from` in its page, some CPUs of AMD need twenty times as long. So larger
/// ranges are copied by the loop of a KernelSet. Its stores go through the caches, which suits
/// ranges that fit there.
void copy_array(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace dt
