#include "gpu/cross_device/reduction_to_one_device.h"

#include "tests/unit/gpu/replicas.h"

namespace dt {
namespace {

constexpr size_t on_the_cpu = 99;

std::unique_ptr<ReductionToOneDevice> reduction_on(DeviceGroup& group, size_t root) {
  return root == on_the_cpu ? ReductionToOneDevice::on_cpu(group).value()
                            : ReductionToOneDevice::on_device(group, root).value();
}

void check_all_terms(size_t n, bool peer_access, size_t root) {
  CAPTURE(n);
  CAPTURE(peer_access);
  CAPTURE(root);
  Replicas replicas({.count = static_cast<int>(n), .peer_access = peer_access});
  const auto reduction = reduction_on(replicas.group(), root);
  bool in_place = false;
  for_each_terms([&](const ElementFormat& format, const CrossDeviceTerms& terms) {
    in_place = !in_place;
    const RandomTensor made = replicas.make({.format = format, .count = 67, .in_place = in_place});
    REQUIRE(reduction->reduce(terms, {&made.tensor, 1}).has_value());
    replicas.check_results(made, terms);
  });
}

TEST_CASE("every device gets the bits of a plain fold, for each type, operation and order") {
  for (size_t n = 1; n <= 9; ++n) {
    check_all_terms(n, true, n / 2);
    check_all_terms(n, false, n - 1);
    check_all_terms(n, true, on_the_cpu);
  }
}

TEST_CASE("any device can be the one that reduces") {
  for (size_t root = 0; root < 4; ++root) {
    CAPTURE(root);
    Replicas replicas({.count = 4, .peer_access = root % 2 == 0});
    const auto reduction = reduction_on(replicas.group(), root);
    const CrossDeviceTerms terms = {.order = FoldOrder::halves};
    const RandomTensor made = replicas.make({.format = float32_format, .count = 200});
    REQUIRE(reduction->reduce(terms, {&made.tensor, 1}).has_value());
    replicas.check_results(made, terms);
  }
}

TEST_CASE("a device that is no member of the group is refused") {
  Replicas replicas({.count = 2});
  check_error(ReductionToOneDevice::on_device(replicas.group(), 2), Errc::input,
              "cannot reduce on device 2: there are 2 devices");
}

TEST_CASE("only the devices with an output get the result") {
  for (const size_t root : {size_t{0}, size_t{1}, on_the_cpu}) {
    CAPTURE(root);
    Replicas replicas({.count = 3});
    const auto reduction = reduction_on(replicas.group(), root);
    RandomTensor made = replicas.make({.format = float32_format, .count = 200});
    made.tensor.outputs[1] = nullptr;
    REQUIRE(reduction->reduce({}, {&made.tensor, 1}).has_value());
    replicas.check_results(made, {});
    CHECK(*made.outputs[1].at() == poison);
  }
}

TEST_CASE("several tensors of several windows are reduced behind each other") {
  for (const size_t root : {size_t{1}, on_the_cpu}) {
    CAPTURE(root);
    Replicas replicas({.count = 3, .peer_access = false});
    const auto reduction = reduction_on(replicas.group(), root);
    std::vector<RandomTensor> made;
    std::vector<ReplicatedTensor> tensors;
    for (const size_t count : {0, 1, 64, 65, 500}) {
      made.push_back(replicas.make({.format = float32_format, .count = count}));
      tensors.push_back(made.back().tensor);
    }
    REQUIRE(reduction->reduce({}, tensors).has_value());
    for (const RandomTensor& one : made)
      replicas.check_results(one, {});
  }
}

TEST_CASE("inputs follow the earlier work of their stream, and later work may overwrite them") {
  for (const size_t root : {size_t{0}, on_the_cpu}) {
    CAPTURE(root);
    Replicas replicas({.count = 3});
    const auto reduction = reduction_on(replicas.group(), root);
    Gate gate;
    DeviceStream& last = replicas.group().stream(2);
    REQUIRE(last.run_on_host([&] { gate.pass(); }).has_value());
    const RandomTensor made = replicas.make({.format = float32_format, .count = 300});
    REQUIRE(reduction->reduce({}, {&made.tensor, 1}).has_value());
    // Copies of the results come before, and inputs are lost.
    std::vector<DeviceBuffer> results;
    for (size_t i = 0; i < 3; ++i) {
      DeviceStream& stream = replicas.group().stream(i);
      results.push_back(stream.device().allocate(1200).value());
      REQUIRE(stream.copy({results[i].at(), made.tensor.outputs[i], 1200}).has_value());
      REQUIRE(stream.fill(made.tensor.outputs[i], std::byte{1}, 1200).has_value());
      REQUIRE(stream.fill(made.inputs[i].at(), std::byte{2}, 1200).has_value());
    }
    gate.open();
    REQUIRE(replicas.group().synchronize(much_later()).has_value());
    const std::vector<std::byte> expected = made.expected({});
    for (const DeviceBuffer& result : results)
      CHECK(std::equal(expected.begin(), expected.end(), result.at()));
  }
}

TEST_CASE("a tensor that is refused leaves all others untouched") {
  Replicas replicas({.count = 2});
  const auto reduction = reduction_on(replicas.group(), 0);
  const RandomTensor good = replicas.make({.format = float32_format, .count = 4});
  RandomTensor bad = replicas.make({.format = float32_format, .count = 4});
  bad.tensor.inputs[1] = nullptr;
  const std::vector<ReplicatedTensor> tensors = {good.tensor, bad.tensor};
  check_error(reduction->reduce({}, tensors), Errc::input, "input 1 of a tensor is null");
  REQUIRE(replicas.group().synchronize(much_later()).has_value());
  CHECK(*good.outputs[0].at() == poison);
}

TEST_CASE("each failure of a call or of its run comes back, and nothing hangs or leaks") {
  for (const size_t root : {size_t{1}, on_the_cpu}) {
    CAPTURE(root);
    check_all_faults([root](Replicas& replicas, const RandomTensor& made) -> Result<> {
      auto reduction = root == on_the_cpu ? ReductionToOneDevice::on_cpu(replicas.group())
                                          : ReductionToOneDevice::on_device(replicas.group(), root);
      if (!reduction) return tl::unexpected(std::move(reduction).error());
      return (*reduction)->reduce({}, {&made.tensor, 1});
    });
  }
}

TEST_CASE("the kernel of the one device uses no memory of another device's pool") {
  check_pooled_memory([](Replicas& replicas, const std::vector<ReplicatedTensor>& tensors) {
    const auto operation = ReductionToOneDevice::on_device(replicas.group(), 1).value();
    const Result<> queued = operation->reduce({}, tensors);
    REQUIRE(replicas.group().synchronize(much_later()).has_value());
    return queued;
  });
}

}  // namespace
}  // namespace dt
