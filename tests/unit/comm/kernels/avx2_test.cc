#include "tests/unit/comm/kernels/kernel_checks.h"

namespace dt {
namespace {

TEST_CASE("the kernels avx2 compute the same bits as the scalar ones") {
  compare_with_scalar("avx2");
}

}  // namespace
}  // namespace dt
