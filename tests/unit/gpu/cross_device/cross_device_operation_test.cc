#include "gpu/cross_device/cross_device_operation.h"

#include "base/format.h"
#include "tests/unit/gpu/replicas.h"

namespace dt {
namespace {

TEST_CASE("ReductionToOneDevice reduces on the device that its name gives, or on the CPU") {
  for (const char* const device : {"", "0", "cpu:1", "/cpu:2", "/device:CPU:1", "cpu", "CPU"}) {
    CAPTURE(device);
    Replicas replicas({.count = 3});
    const auto operation = CrossDeviceOperation::make(replicas.group(), {.device = device}).value();
    const RandomTensor made = replicas.make({.format = float32_format, .count = 1000});
    REQUIRE(operation->reduce({}, {&made.tensor, 1}).has_value());
    replicas.check_results(made, {});
  }
}

TEST_CASE("a device that has no replica cannot reduce, and is named with those that can") {
  Replicas replicas({.count = 2});
  for (const char* const device : {"2", "cpu:2", "gpu:0", "x"}) {
    CAPTURE(device);
    check_error(CrossDeviceOperation::make(replicas.group(), {.device = device}), Errc::input,
                format("ReductionToOneDevice cannot reduce on \"{}\"; give one of its devices, "
                       "cpu:0, cpu:1, or cpu",
                       device)
                    .c_str());
  }
}

}  // namespace
}  // namespace dt
