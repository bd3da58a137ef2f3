#include "examples/digits/gpu_trainer.h"
#include "tests/unit/comm/training/strategy/strategies.h"

namespace digits {
namespace {

TEST_CASE("a build without a CUDA Toolkit refuses --device gpu, and names the remedy") {
  dt::World world({.size = 1});
  dt::check_all_well(world.run([](dtrain::Context& context) {
    CHECK_THROWS_WITH(prepare_gpu_training(context, {}, {}),
                      "no usable GPU: this build of digits has no GPU parts; build it where there "
                      "is a CUDA Toolkit, or give --device cpu");
  }));
}

}  // namespace
}  // namespace digits
