#include "tests/unit/base/kernels/kernel_checks.h"

namespace dt {
namespace {

TEST_CASE("the kernels avx2 compute the same bits as the portable ones") {
  compare_with_portable("avx2");
}

}  // namespace
}  // namespace dt
