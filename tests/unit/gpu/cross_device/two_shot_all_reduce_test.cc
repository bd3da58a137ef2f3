#include "gpu/cross_device/two_shot_all_reduce.h"

#include "gpu/cross_device/cross_device_operation.h"
#include "gpu/cross_device/pack_window.h"
#include "tests/unit/gpu/replicas.h"

#include <atomic>
#include <map>
#include <mutex>

namespace dt {
namespace {

/// Tensors of one type, of which every second one is reduced in place.
struct TensorList {
  TensorList(Replicas& replicas, const ElementFormat& format, const std::vector<size_t>& counts) {
    for (const size_t count : counts) {
      const bool in_place = made.size() % 2 == 1;
      made.push_back(replicas.make({.format = format, .count = count, .in_place = in_place}));
      tensors.push_back(made.back().tensor);
    }
  }
  void check_results(Replicas& replicas, const CrossDeviceTerms& terms) const {
    for (const RandomTensor& one : made)
      replicas.check_results(one, terms);
  }
  std::vector<RandomTensor> made = {};
  std::vector<ReplicatedTensor> tensors = {};
};

TEST_CASE("two-shot: every device gets the bits of a plain fold, for each type and operation") {
  for (const size_t n : {1, 2, 3, 5, 8}) {
    CAPTURE(n);
    for (const bool peer_access : {true, false}) {
      CAPTURE(peer_access);
      Replicas replicas({.count = static_cast<int>(n), .peer_access = peer_access});
      TwoShotAllReduce operation(replicas.group(), 1);
      for_each_terms([&](const ElementFormat& format, const CrossDeviceTerms& terms) {
        const TensorList list(replicas, format, {5, 133});
        REQUIRE(operation.all_reduce(terms, list.tensors).has_value());
        list.check_results(replicas, terms);
      });
    }
  }
}

TEST_CASE("two-shot: devices write all results, and copy only what they cannot access") {
  for (const auto& [devices, peer_access] :
       {std::pair(2, true), {5, true}, {16, true}, {17, true}, {2, false}, {5, false}}) {
    CAPTURE(devices);
    CAPTURE(peer_access);
    std::atomic<bool> counts = false;
    std::atomic<int> copies = 0;
    const auto probe = [&](const ProbedCall& call) -> Result<> {
      if (counts && !call.runs && call.call == DeviceCall::copy) ++copies;
      return {};
    };
    Replicas replicas({.count = devices, .peer_access = peer_access, .probe = probe});
    for (const bool in_place : {true, false}) {
      const RandomTensor made =
          replicas.make({.format = float32_format, .count = 100, .in_place = in_place});
      REQUIRE(replicas.group().synchronize(much_later()).has_value());
      counts = true;
      REQUIRE(TwoShotAllReduce(replicas.group()).all_reduce({}, {&made.tensor, 1}).has_value());
      counts = false;
      replicas.check_results(made, {});
    }
    CHECK((copies == 0) == (peer_access && devices <= 16));
  }
}

TEST_CASE("two-shot: each device packs all tensors by one batch, and records each point once") {
  std::map<DeviceCall, int> calls;
  std::mutex mutex;
  const auto probe = [&](const ProbedCall& call) -> Result<> {
    const std::lock_guard lock(mutex);
    if (!call.runs) ++calls[call.call];
    return {};
  };
  Replicas replicas({.count = 3, .probe = probe});
  const TensorList list(replicas, float32_format, std::vector<size_t>(20, 3));
  REQUIRE(replicas.group().synchronize(much_later()).has_value());
  calls.clear();
  REQUIRE(TwoShotAllReduce(replicas.group(), 1).all_reduce({}, list.tensors).has_value());
  CHECK(calls[DeviceCall::copy] == 2 * 3);
  CHECK(calls[DeviceCall::record] == 2 * 3);
  CHECK(calls[DeviceCall::wait] == 2 * 3 * 2);
  list.check_results(replicas, {});
}

TEST_CASE("two-shot: results do not depend on the number of packs") {
  for (const bool peer_access : {true, false}) {
    CAPTURE(peer_access);
    Replicas replicas({.count = 3, .peer_access = peer_access});
    for (const size_t num_packs : {0, 1, 2, 3, 1000}) {
      CAPTURE(num_packs);
      const TensorList list(replicas, float32_format, {1, 64, 0, 65, 7, 1000, 3, 3});
      TwoShotAllReduce operation(replicas.group(), num_packs);
      REQUIRE(operation.all_reduce({}, list.tensors).has_value());
      list.check_results(replicas, {});
    }
  }
}

TEST_CASE("two-shot: one device alone keeps its values, also signalling NaN and true beyond 1") {
  Replicas replicas({});
  for (const size_t num_packs : {0, 1, 5}) {
    TwoShotAllReduce operation(replicas.group(), num_packs);
    for_each_terms([&](const ElementFormat& format, const CrossDeviceTerms& terms) {
      const TensorList list(replicas, format, {100, 100});
      REQUIRE(operation.all_reduce(terms, list.tensors).has_value());
      REQUIRE(replicas.group().synchronize(much_later()).has_value());
      for (const RandomTensor& one : list.made)
        REQUIRE(std::memcmp(one.tensor.outputs[0], one.values[0].at(), 100 * format.bytes) == 0);
    });
  }
}

TEST_CASE("two-shot: several streams of one device are as good as several devices") {
  const CpuDevices cpu({});
  std::vector<std::unique_ptr<DeviceStream>> streams;
  std::vector<DeviceStream*> members;
  std::vector<DeviceBuffer> buffers;
  ReplicatedTensor tensor = {.count = 1};
  for (size_t i = 0; i < 5; ++i) {
    streams.push_back(cpu.device(0).make_stream().value());
    members.push_back(streams.back().get());
    buffers.push_back(on_device<float>(*members[i], {static_cast<float>(1U << i)}));
    tensor.inputs.push_back(buffers[i].at());
    tensor.outputs.push_back(buffers[i].at());
  }
  const auto group = DeviceGroup::make(members, 0).value();
  REQUIRE(TwoShotAllReduce(*group).all_reduce({}, {&tensor, 1}).has_value());
  for (size_t i = 0; i < 5; ++i)
    CHECK(values_of<float>(*members[i], buffers[i], 1)[0] == 31.0F);
}

TEST_CASE(
    "two-shot: inputs follow the earlier work of their stream, and later work may overwrite them") {
  for (const size_t num_packs : {0, 1}) {
    CAPTURE(num_packs);
    Replicas replicas({.count = 5});
    Gate gate;
    REQUIRE(replicas.group().stream(3).run_on_host([&] { gate.pass(); }).has_value());
    const TensorList list(replicas, float32_format, {100, 3, 70});
    TwoShotAllReduce operation(replicas.group(), num_packs);
    REQUIRE(operation.all_reduce({}, list.tensors).has_value());
    std::vector<DeviceBuffer> results;
    for (const RandomTensor& one : list.made)
      for (size_t i = 0; i < 5; ++i) {
        DeviceStream& stream = replicas.group().stream(i);
        const size_t bytes = one.tensor.count * sizeof(float);
        results.push_back(stream.device().allocate(bytes).value());
        REQUIRE(stream.copy({results.back().at(), one.tensor.outputs[i], bytes}).has_value());
        REQUIRE(stream.fill(one.tensor.outputs[i], std::byte{1}, bytes).has_value());
        REQUIRE(stream.fill(one.inputs[i].at(), std::byte{2}, bytes).has_value());
      }
    gate.open();
    REQUIRE(replicas.group().synchronize(much_later()).has_value());
    for (size_t r = 0; r < results.size(); ++r) {
      const std::vector<std::byte> expected = list.made[r / 5].expected({});
      CHECK(std::equal(expected.begin(), expected.end(), results[r].at()));
    }
  }
}

TEST_CASE("two-shot: a tensor that is refused leaves all others untouched") {
  Replicas replicas({.count = 2});
  TensorList list(replicas, float32_format, {4, 5, 6});
  list.tensors[2].outputs[0] = nullptr;
  TwoShotAllReduce operation(replicas.group());
  check_error(operation.all_reduce({}, list.tensors), Errc::input, "output 0 of a tensor is null");
  check_error(operation.all_reduce({.type = ElementType::boolean, .op = ReduceOp::average},
                                   std::span(list.tensors).first(1)),
              Errc::input, "cannot reduce: booleans have no average");
  REQUIRE(replicas.group().synchronize(much_later()).has_value());
  CHECK(*list.made[0].outputs[0].at() == poison);
}

TEST_CASE("windows of a pack have at most so many elements, and each element once") {
  Replicas replicas({.count = 2});
  const TensorList list(replicas, float32_format, {5, 1, 20});
  const PackTensors all = {.group = replicas.group(), .terms = {}, .tensors = list.tensors};
  std::vector<size_t> counts;
  const auto reduce = [&](const PackWindow& window) -> Result<> {
    counts.push_back(window.count);
    CHECK(window.inputs.size() == 2);
    // The first window has elements of two tensors, so it lies in the packed slots.
    CHECK((window.outputs[1] == replicas.group().packed_slot(1)) == (counts.size() == 1));
    return {};
  };
  const Pack pack = {{.tensor = 0, .begin = 0, .count = 5},
                     {.tensor = 1, .begin = 0, .count = 1},
                     {.tensor = 2, .begin = 0, .count = 20}};
  REQUIRE(reduce_in_windows(all, pack, 6, reduce).has_value());
  CHECK(counts == std::vector<size_t>{6, 6, 6, 6, 2});
}

TEST_CASE("two-shot: no kernel uses memory of another device's pool") {
  for (const size_t num_packs : {0, 1}) {
    check_pooled_memory([&](Replicas& replicas, const std::vector<ReplicatedTensor>& tensors) {
      return TwoShotAllReduce(replicas.group(), num_packs).all_reduce({}, tensors);
    });
  }
}

TEST_CASE("two-shot: each fault of a device comes back, and hangs nobody") {
  check_all_faults([](Replicas& replicas, const RandomTensor& made) {
    return TwoShotAllReduce(replicas.group()).all_reduce({}, {&made.tensor, 1});
  });
}

TEST_CASE("an operation by name makes the same result, also where only some devices get it") {
  using Kind = CrossDeviceName::Kind;
  for (const Kind kind :
       {Kind::reduction_to_one_device, Kind::hierarchical_copy_all_reduce, Kind::all_reduce}) {
    CAPTURE(static_cast<int>(kind));
    Replicas replicas({.count = 3});
    const auto operation = CrossDeviceOperation::make(replicas.group(), {kind, 2}).value();
    const TensorList list(replicas, float32_format, {70, 3});
    REQUIRE(operation->reduce({.op = ReduceOp::max}, list.tensors).has_value());
    list.check_results(replicas, {.op = ReduceOp::max});
    RandomTensor one = replicas.make({.format = float32_format, .count = 9});
    one.tensor.outputs[1] = nullptr;
    REQUIRE(operation->reduce({}, {&one.tensor, 1}).has_value());
    replicas.check_results(one, {});
  }
}

}  // namespace
}  // namespace dt
