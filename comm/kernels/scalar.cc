#include "comm/kernels/loops.h"

namespace dt {

namespace {

/// No registers but those of single elements; the compiler may still find vectors of the baseline.
struct Scalar {
  static constexpr size_t register_bytes = 0;
};

}  // namespace

constinit const KernelSet scalar_kernels = make_kernel_set<Scalar>("scalar");

}  // namespace dt
