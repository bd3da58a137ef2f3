#include "comm/training/strategy/device_schedule.h"

#include "comm/schedule/algorithm.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

/// A tensor of each replica of this process.
struct Tensors {
  Tensors(size_t replicas, size_t count)
      : devices(ReplicaDevices::open({.device_memory = size_t{1} << 20},
                                     {{"DTRAIN_CPU_DEVICES", std::to_string(replicas)}})
                    .value()) {
    tensor.count = count;
    for (size_t i = 0; i < replicas; ++i) {
      memory.push_back(devices->allocate(i, count * sizeof(int64_t)).value());
      auto* const values = reinterpret_cast<int64_t*>(memory[i].at());
      for (size_t element = 0; element < count; ++element)
        values[element] = value(i, element);
      tensor.inputs.push_back(memory[i].at());
      tensor.outputs.push_back(memory[i].at());
    }
  }
  static int64_t value(size_t replica, size_t element) {
    return static_cast<int64_t>((replica + 1) * (element % 7 + 1) * 12);
  }
  int64_t result(size_t replica, size_t element) const {
    return reinterpret_cast<const int64_t*>(memory[replica].at())[element];
  }

  std::unique_ptr<ReplicaDevices> devices;
  std::vector<DeviceBuffer> memory = {};
  ReplicatedTensor tensor = {};
};

Result<> execute(Tensors& tensors, ReduceOp op, const std::vector<Steps>& steps) {
  const CrossDeviceTerms terms = {.type = ElementType::int64, .op = op};
  TRY(DeviceSchedule(*tensors.devices, terms, tensors.tensor).run("mine", steps));
  return tensors.devices->synchronize();
}

std::vector<Steps> steps_by(Algorithm algorithm, size_t replicas, size_t count) {
  std::vector<Steps> steps;
  for (size_t i = 0; i < replicas; ++i) {
    const Group ranks = {static_cast<int>(i), static_cast<int>(replicas)};
    steps.push_back(steps_of(ranks,
                             {.kind = OperationKind::all_reduce,
                              .count = count,
                              .element_bytes = sizeof(int64_t),
                              .in_place = true},
                             algorithm)
                        .value());
  }
  return steps;
}

TEST_CASE("steps of several algorithms give all devices the same result") {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::recursive_doubling,
                                    Algorithm::halving_doubling}) {
    for (size_t replicas = 2; replicas <= 5; ++replicas) {
      for (const size_t count : {size_t{1}, size_t{3}, size_t{1000}}) {
        CAPTURE(algorithm_name(algorithm));
        CAPTURE(replicas);
        CAPTURE(count);
        Tensors tensors(replicas, count);
        REQUIRE(execute(tensors, ReduceOp::sum, steps_by(algorithm, replicas, count)));
        const auto factor = static_cast<int64_t>(replicas * (replicas + 1) / 2);
        bool right = true;
        for (size_t i = 0; i < replicas; ++i)
          for (size_t element = 0; element < count; ++element)
            right = right && tensors.result(i, element) == factor * Tensors::value(0, element);
        CHECK(right);
      }
    }
  }
}

TEST_CASE("an average divides by the number of devices, and a maximum does not") {
  Tensors averaged(3, 5);
  REQUIRE(execute(averaged, ReduceOp::average, steps_by(Algorithm::ring, 3, 5)));
  Tensors largest(3, 5);
  REQUIRE(execute(largest, ReduceOp::max, steps_by(Algorithm::tree, 3, 5)));
  for (size_t i = 0; i < 3; ++i) {
    CHECK(averaged.result(i, 4) == Tensors::value(1, 4));
    CHECK(largest.result(i, 4) == Tensors::value(2, 4));
  }
}

TEST_CASE("steps that do not fit together are named") {
  const Range all = {0, 2};
  const Steps receives = {{.receive_from = 1, .receive = all}};
  const Steps sends = {{.send_to = 0, .send = all}};
  const Steps sends_less = {{.send_to = 0, .send = {0, 1}}};
  struct Case {
    std::vector<Steps> steps;
    std::string replica;
  };
  for (const Case& which :
       {Case{{receives, {}}, "0"}, Case{{{}, sends}, "1"}, Case{{receives, sends_less}, "0"}}) {
    Tensors tensors(2, 2);
    const Result<> executed = execute(tensors, ReduceOp::sum, which.steps);
    REQUIRE_FALSE(executed);
    CHECK(executed.error() ==
          Error{Errc::input, "the registered algorithm mine: step 1 of replica " + which.replica +
                                 " has no counterpart"});
  }
  Tensors tensors(2, 2);
  REQUIRE(execute(tensors, ReduceOp::sum, {receives, sends}));
  CHECK(tensors.result(0, 1) == Tensors::value(1, 1));
}

}  // namespace
}  // namespace dt
