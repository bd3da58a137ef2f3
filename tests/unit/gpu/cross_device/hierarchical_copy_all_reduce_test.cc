#include "gpu/cross_device/hierarchical_copy_all_reduce.h"

#include "tests/unit/gpu/replicas.h"

namespace dt {
namespace {

/// Some tensors of one type, of which every second one is reduced in place.
struct TensorList {
  TensorList(Replicas& replicas, const ElementFormat& format, const std::vector<size_t>& counts) {
    for (const size_t count : counts) {
      const bool in_place = made.size() % 2 == 1;
      made.push_back(replicas.make({.format = format, .count = count, .in_place = in_place}));
      tensors.push_back(made.back().tensor);
    }
  }
  std::vector<RandomTensor> made = {};
  std::vector<ReplicatedTensor> tensors = {};
};

void check_all_terms(size_t n, bool peer_access, size_t num_packs) {
  CAPTURE(n);
  CAPTURE(peer_access);
  CAPTURE(num_packs);
  Replicas replicas({.count = static_cast<int>(n), .peer_access = peer_access});
  HierarchicalCopyAllReduce operation(replicas.group(), num_packs);
  for_each_terms([&](const ElementFormat& format, const CrossDeviceTerms& terms) {
    const TensorList list(replicas, format, {5, 33});
    REQUIRE(operation.all_reduce(terms, list.tensors).has_value());
    for (const RandomTensor& one : list.made)
      replicas.check_results(one, terms);
  });
}

TEST_CASE("every device gets the bits of a plain fold, for each type, operation and order") {
  for (size_t n = 1; n <= 9; ++n) {
    check_all_terms(n, true, 0);
    check_all_terms(n, false, 1);
  }
}

TEST_CASE("results do not depend on the number of packs, nor on the main devices") {
  for (const size_t n : {2, 3, 4, 5, 7}) {
    CAPTURE(n);
    for (const bool peer_access : {true, false}) {
      CAPTURE(peer_access);
      Replicas replicas({.count = static_cast<int>(n), .peer_access = peer_access});
      for (const size_t num_packs : {0, 1, 2, 3, 1000}) {
        CAPTURE(num_packs);
        for (const FoldOrder order : {FoldOrder::rank, FoldOrder::halves}) {
          const TensorList list(replicas, float32_format, {1, 64, 0, 65, 7, 200, 3, 3});
          HierarchicalCopyAllReduce operation(replicas.group(), num_packs);
          REQUIRE(operation.all_reduce({.order = order}, list.tensors).has_value());
          for (const RandomTensor& one : list.made)
            replicas.check_results(one, {.order = order});
        }
      }
    }
  }
}

TEST_CASE("with an odd number of devices, no device is left out") {
  for (const size_t n : {3, 5, 7, 9}) {
    CAPTURE(n);
    Replicas replicas({.count = static_cast<int>(n)});
    const TensorList list(replicas, float32_format, std::vector<size_t>(n, 1));
    for (const RandomTensor& one : list.made)
      for (size_t i = 0; i < n; ++i) {
        const float power = static_cast<float>(1U << i);
        REQUIRE(replicas.group().stream(i).synchronize(much_later()).has_value());
        std::memcpy(one.inputs[i].at(), &power, sizeof power);
      }
    HierarchicalCopyAllReduce operation(replicas.group(), 0);
    REQUIRE(operation.all_reduce({}, list.tensors).has_value());
    REQUIRE(replicas.group().synchronize(much_later()).has_value());
    for (const RandomTensor& one : list.made)
      for (size_t i = 0; i < n; ++i) {
        float sum = 0;
        std::memcpy(&sum, one.tensor.outputs[i], sizeof sum);
        CHECK(sum == static_cast<float>((1U << n) - 1));
      }
  }
}

TEST_CASE("one device alone keeps its values, also signalling NaN and true beyond 1") {
  Replicas replicas({});
  for (const size_t num_packs : {0, 1, 5}) {
    HierarchicalCopyAllReduce operation(replicas.group(), num_packs);
    for_each_terms([&](const ElementFormat& format, const CrossDeviceTerms& terms) {
      const TensorList list(replicas, format, {100, 100});
      REQUIRE(operation.all_reduce(terms, list.tensors).has_value());
      REQUIRE(replicas.group().synchronize(much_later()).has_value());
      for (const RandomTensor& one : list.made)
        REQUIRE(std::memcmp(one.tensor.outputs[0], one.values[0].at(), 100 * format.bytes) == 0);
    });
  }
}

TEST_CASE("several streams of one device are as good as several devices") {
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
  REQUIRE(HierarchicalCopyAllReduce(*group).all_reduce({}, {&tensor, 1}).has_value());
  for (size_t i = 0; i < 5; ++i)
    CHECK(values_of<float>(*members[i], buffers[i], 1)[0] == 31.0F);
}

TEST_CASE("no kernel of a half uses memory of another device's pool") {
  for (const size_t num_packs : {0, 1}) {
    check_pooled_memory([&](Replicas& replicas, const std::vector<ReplicatedTensor>& tensors) {
      return HierarchicalCopyAllReduce(replicas.group(), num_packs).all_reduce({}, tensors);
    });
  }
}

TEST_CASE("no tensors are no work") {
  Replicas replicas({.count = 3});
  for (const size_t num_packs : {0, 1, 5})
    CHECK(HierarchicalCopyAllReduce(replicas.group(), num_packs).all_reduce({}, {}).has_value());
}

TEST_CASE("inputs follow the earlier work of their stream, and later work may overwrite them") {
  for (const size_t num_packs : {0, 1}) {
    CAPTURE(num_packs);
    Replicas replicas({.count = 5});
    Gate gate;
    REQUIRE(replicas.group().stream(3).run_on_host([&] { gate.pass(); }).has_value());
    const TensorList list(replicas, float32_format, {100, 3, 70});
    HierarchicalCopyAllReduce operation(replicas.group(), num_packs);
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

TEST_CASE("a tensor that is refused leaves all others untouched") {
  Replicas replicas({.count = 2});
  TensorList list(replicas, float32_format, {4, 5, 6});
  list.tensors[2].outputs[0] = nullptr;
  HierarchicalCopyAllReduce operation(replicas.group());
  check_error(operation.all_reduce({}, list.tensors), Errc::input, "output 0 of a tensor is null");
  check_error(operation.all_reduce({.type = ElementType::boolean, .op = ReduceOp::average},
                                   std::span(list.tensors).first(1)),
              Errc::input, "cannot reduce: booleans have no average");
  REQUIRE(replicas.group().synchronize(much_later()).has_value());
  CHECK(*list.made[0].outputs[0].at() == poison);
}

TEST_CASE("each failure of a call or of its run comes back, and nothing hangs or leaks") {
  for (const FoldOrder order : {FoldOrder::rank, FoldOrder::halves}) {
    check_all_faults([order](Replicas& replicas, const RandomTensor& made) -> Result<> {
      HierarchicalCopyAllReduce operation(replicas.group(), 2);
      return operation.all_reduce({.order = order}, {&made.tensor, 1});
    });
  }
}

}  // namespace
}  // namespace dt
