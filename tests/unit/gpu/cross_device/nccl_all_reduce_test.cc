#include "gpu/cross_device/nccl_all_reduce.h"

#include "gpu/cross_device/cross_device_operation.h"
#include "tests/unit/gpu/nccl/fake_ranks.h"
#include "tests/unit/gpu/replicas.h"

#include <atomic>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// Replicas whose devices a stand-in of NCCL connects.
struct NcclReplicas {
  explicit NcclReplicas(const FakeRanks& ranks, int count = 3, const CallProbe& probe = {})
      : replicas({.count = count, .probe = probe}) {
    std::vector<DeviceStream*> streams;
    for (size_t i = 0; i < replicas.group().size(); ++i)
      streams.push_back(&replicas.group().stream(i));
    nccl = NcclDevices::join(ranks.nccl, streams, FakeRanks::later()).value();
  }
  Replicas replicas;
  std::unique_ptr<NcclDevices> nccl = {};
};

/// Numbers of these types wrap around, and have no NaN.
bool is_unsigned_of_nccl(const ElementFormat& format) {
  return format.type == ElementType::uint8 || format.type == ElementType::uint32 ||
         format.type == ElementType::uint64;
}

TEST_CASE("NCCL gives all devices the same result, in place too, for each number of packs") {
  const FakeRanks ranks("");
  for (const int devices : {2, 3}) {
    NcclReplicas all(ranks, devices);
    Replicas& replicas = all.replicas;
    for_each_terms([&](const ElementFormat& format, const CrossDeviceTerms& terms) {
      if (!is_unsigned_of_nccl(format) || terms.order == FoldOrder::halves) return;
      REQUIRE(NcclAllReduce::can_reduce(terms));
      for (const size_t num_packs : {0, 1, 3}) {
        CAPTURE(num_packs);
        std::vector<RandomTensor> made;
        std::vector<ReplicatedTensor> tensors;
        for (const size_t count : {5, 0, 130, 1}) {
          made.push_back(
              replicas.make({.format = format, .count = count, .in_place = made.size() % 2 == 1}));
          tensors.push_back(made.back().tensor);
        }
        NcclAllReduce operation(replicas.group(), *all.nccl, num_packs);
        REQUIRE(operation.all_reduce(terms, tensors).has_value());
        for (const RandomTensor& one : made)
          replicas.check_results(one, terms);
      }
    });
  }
}

/// Averages the same values on all devices by NCCL. Returns the first device's result, and counts
/// the reductions of the devices.
template <class T>
std::vector<T> average_of(int devices, ElementType type, const std::vector<T>& values,
                          std::atomic<int>& reductions) {
  const FakeRanks ranks("");
  NcclReplicas all(ranks, devices, [&](const ProbedCall& call) -> Result<> {
    if (call.runs && call.call == DeviceCall::reduce) ++reductions;
    return {};
  });
  std::vector<DeviceBuffer> buffers;
  ReplicatedTensor tensor = {.count = values.size()};
  for (size_t i = 0; i < all.replicas.group().size(); ++i) {
    buffers.push_back(on_device(all.replicas.group().stream(i), values));
    tensor.inputs.push_back(buffers[i].at());
    tensor.outputs.push_back(buffers[i].at());
  }
  NcclAllReduce operation(all.replicas.group(), *all.nccl);
  REQUIRE(operation.all_reduce({.type = type, .op = ReduceOp::average}, {&tensor, 1}).has_value());
  return values_of<T>(all.replicas.group().stream(0), buffers[0], values.size());
}

TEST_CASE("NCCL averages floats of a power of two of devices, without a pass of ours") {
  std::atomic<int> reductions = 0;
  const std::vector<float> floats = {0.1F, -3, 1e30F};
  CHECK(average_of<float>(4, ElementType::float32, floats, reductions) == floats);
  const std::vector<double> doubles = {0.1, -3, 1e300};
  CHECK(average_of<double>(2, ElementType::float64, doubles, reductions) == doubles);
  const std::vector<uint16_t> bfloats = {0x3dcd, 0xc040};
  CHECK(average_of<uint16_t>(2, ElementType::bfloat16, bfloats, reductions) == bfloats);
  CHECK(reductions == 0);
}

TEST_CASE("an average that NCCL would round otherwise is its sum, divided") {
  std::atomic<int> reductions = 0;
  // In float32, three thirds of 7 are another number.
  const std::vector<float> floats = {7, 0.1F};
  CHECK(average_of<float>(3, ElementType::float32, floats, reductions) == floats);
  CHECK(reductions == 3);
  // The least number of float16: NCCL would add halves of it, which are 0.
  const std::vector<uint16_t> halves = {0x0001, 0x3c00};
  CHECK(average_of<uint16_t>(2, ElementType::float16, halves, reductions) == halves);
  const std::vector<int32_t> integers = {1, -7};
  CHECK(average_of<int32_t>(2, ElementType::int32, integers, reductions) == integers);
  CHECK(reductions == 3 + 2 + 2);
}

TEST_CASE("the operation of that name reduces without NCCL what NCCL lacks") {
  const FakeRanks ranks("fail=ncclAllReduce:1");
  NcclReplicas all(ranks);
  const auto operation = CrossDeviceOperation::make(
                             all.replicas.group(), {.kind = CrossDeviceName::Kind::nccl_all_reduce})
                             .value();
  const RandomTensor before = all.replicas.make({.format = float32_format, .count = 10});
  REQUIRE(operation->reduce({}, {&before.tensor, 1}).has_value());
  all.replicas.check_results(before, {});
  operation->use(*all.nccl);
  const CrossDeviceTerms terms = {.type = ElementType::int16};
  CHECK_FALSE(NcclAllReduce::can_reduce(terms));
  CHECK_FALSE(NcclAllReduce::can_reduce({.op = ReduceOp::max}));  // NCCL drops a NaN
  for (const ElementFormat& format : all_formats) {
    if (format.type != terms.type) continue;
    const RandomTensor made = all.replicas.make({.format = format, .count = 100});
    REQUIRE(operation->reduce(terms, {&made.tensor, 1}).has_value());
    all.replicas.check_results(made, terms);
  }
  RandomTensor made = all.replicas.make({.format = float32_format, .count = 100});
  CHECK(operation->reduce({}, {&made.tensor, 1}).error() ==
        Error{Errc::os, "ncclAllReduce: internal error"});
  // Where only some devices get the result, one device reduces.
  RandomTensor some = all.replicas.make({.format = float32_format, .count = 10});
  some.tensor.outputs[1] = nullptr;
  REQUIRE(operation->reduce({}, {&some.tensor, 1}).has_value());
  all.replicas.check_results(some, {});
}

TEST_CASE("tensors that the group cannot reduce are refused, without an effect on NCCL") {
  const FakeRanks ranks("");
  NcclReplicas all(ranks);
  RandomTensor made = all.replicas.make({.format = all_formats[1], .count = 10});
  const CrossDeviceTerms terms = {.type = all_formats[1].type};
  const std::byte* const input = std::exchange(made.tensor.inputs[1], nullptr);
  NcclAllReduce operation(all.replicas.group(), *all.nccl);
  CHECK(operation.all_reduce(terms, {&made.tensor, 1}).error().code == Errc::input);
  made.tensor.inputs[1] = input;
  REQUIRE(operation.all_reduce(terms, {&made.tensor, 1}).has_value());
  all.replicas.check_results(made, terms);
}

}  // namespace
}  // namespace dt
