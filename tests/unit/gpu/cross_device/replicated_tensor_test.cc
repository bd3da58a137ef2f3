#include "gpu/cross_device/replicated_tensor.h"

#include "tests/unit/gpu/replicas.h"

namespace dt {
namespace {

TEST_CASE("a tensor with wrong replicas is refused with the reason") {
  Replicas replicas({.count = 2});
  const RandomTensor made = replicas.make({.format = float32_format, .count = 4});
  const DeviceBuffer pinned = replicas.cpu().device(0).allocate_pinned(16).value();
  std::byte pageable[16] = {};
  const auto refused = [&](const auto& change, const char* message) {
    CrossDeviceTerms terms;
    ReplicatedTensor tensor = made.tensor;
    change(terms, tensor);
    check_error(check(replicas.group(), terms, tensor, Destinations::all), Errc::input, message);
  };
  using Terms = CrossDeviceTerms;
  using Tensor = ReplicatedTensor;
  CHECK(check(replicas.group(), {}, made.tensor, Destinations::all).has_value());
  refused([](Terms&, Tensor& tensor) { tensor.outputs.pop_back(); },
          "a tensor has 2 inputs and 1 outputs, but there are 2 devices");
  refused([](Terms&, Tensor& tensor) { tensor.inputs.push_back(nullptr); },
          "a tensor has 3 inputs and 2 outputs, but there are 2 devices");
  refused([](Terms& terms, Tensor&) { terms.op = ReduceOp::adasum; },
          "cannot reduce: adasum does not reduce element by element");
  refused([](Terms&, Tensor& tensor) { tensor.inputs[1] = nullptr; },
          "input 1 of a tensor is null");
  refused([](Terms&, Tensor& tensor) { tensor.outputs[0] = nullptr; },
          "output 0 of a tensor is null");
  refused([](Terms&, Tensor& tensor) { std::swap(tensor.inputs[0], tensor.inputs[1]); },
          "input 0 of a tensor lies in memory of device 1, not on cpu:0");
  refused([&](Terms&, Tensor& tensor) { tensor.outputs[1] = pinned.at(); },
          "output 1 of a tensor lies in pinned memory of the host, not on cpu:1");
  refused([&](Terms&, Tensor& tensor) { tensor.inputs[1] = pageable; },
          "input 1 of a tensor lies in pageable memory of the host, not on cpu:1");
}

TEST_CASE("an output may be null where only some devices get the result") {
  Replicas replicas({.count = 2});
  RandomTensor made = replicas.make({.format = float32_format, .count = 4});
  made.tensor.outputs[0] = nullptr;
  CHECK(check(replicas.group(), {}, made.tensor, Destinations::some).has_value());
  made.tensor.inputs[0] = nullptr;
  CHECK_FALSE(check(replicas.group(), {}, made.tensor, Destinations::some).has_value());
}

TEST_CASE("the addresses of no elements do not count") {
  Replicas replicas({.count = 2});
  const ReplicatedTensor tensor = {.inputs = {nullptr, nullptr}, .outputs = {nullptr, nullptr}};
  CHECK(check(replicas.group(), {}, tensor, Destinations::all).has_value());
}

}  // namespace
}  // namespace dt
