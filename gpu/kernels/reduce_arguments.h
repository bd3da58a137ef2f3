#pragma once

#include "base/kernels/array_reduction.h"
#include "gpu/kernels/reduce_kernel.cuh"

namespace dt {

/// Returns the parameters of a kernel for the reduction, which check() has accepted. Fails with
/// Errc::unsupported for more than reduce_arrays_max arrays or reduction_results_max results.
Result<ReduceArguments> reduce_arguments(const ArrayReduction& reduction);

}  // namespace dt
