#include "tests/unit/base/kernels/kernel_checks.h"

namespace dt {
namespace {

TEST_CASE("the kernels avx512 compute the same bits as the portable ones") {
  compare_with_portable("avx512");
}

}  // namespace
}  // namespace dt
