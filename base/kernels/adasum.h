#pragma once

#include "base/kernels/element.h"

#include <cstddef>

namespace dt {

/// The sum of two arrays without what they have in common (Maleki et al., "Scaling Distributed
/// Training with Adaptive Summation", 2020):
///
///     into = (1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b
///
/// Arrays at right angles are added; of equal ones, the result is their average. An array of zeros
/// changes nothing. `type` is a float type. Computed in float64, and rounded once. `into` may be
/// `a` or `b`, but must not overlap them otherwise.
void adasum(ElementType type, std::byte* into, const std::byte* a, const std::byte* b,
            size_t count);

}  // namespace dt
