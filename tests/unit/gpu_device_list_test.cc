#include "gpu/device_list.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a build without CUDA sees no GPU") {
  CHECK(list_gpus().empty());
}

}  // namespace
}  // namespace dt
