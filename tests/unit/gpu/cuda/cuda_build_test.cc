#include "gpu/cuda/cuda_build.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a build with a toolkit has code for all architectures") {
  const CudaBuild build = cuda_build();
  CHECK(build.toolkit.find('.') != std::string_view::npos);
  CHECK(build.architectures == "sm_75 sm_80 sm_89 sm_90 sm_100 sm_120 compute_90");
}

}  // namespace
}  // namespace dt
