#include "gpu/cuda/cuda_build.h"
#include "gpu/cuda/open_cuda.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a build without a toolkit has no GPU parts") {
  CHECK(cuda_build().toolkit.empty());
  CHECK(cuda_build().architectures.empty());
  CHECK(cuda_build().nccl.empty());
  CHECK(cuda_driver_version() == 0);
  CHECK(open_cuda_device(0).error().code == Errc::not_found);
}

}  // namespace
}  // namespace dt
