#pragma once

#include "gpu/cross_device/device_group.h"
#include "gpu/cross_device/replicated_tensor.h"
#include "tests/unit/base/kernels/kernel_arrays.h"
#include "tests/unit/base/kernels/plain_fold.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <vector>

namespace dt {

/// A tensor with random bits on each device, and what it must become.
struct RandomTensor {
  ElementFormat format = {};
  std::vector<ElementArray> values = {};  ///< by device
  std::vector<DeviceBuffer> inputs = {};
  std::vector<DeviceBuffer> outputs = {};  ///< empty: results replace the inputs
  ReplicatedTensor tensor = {};

  /// Returns the bytes of the result.
  std::vector<std::byte> expected(const CrossDeviceTerms& terms) const {
    ArrayReduction reduction = {
        .type = terms.type, .op = terms.op, .order = terms.order, .count = tensor.count};
    for (const ElementArray& array : values)
      reduction.sources.push_back(array.at());
    return plain_fold(reduction);
  }
};

struct TensorShape {
  ElementFormat format = {};
  size_t count = 0;
  bool in_place = false;
  bool pooled = false;  ///< its memory has KernelAccess::own_device
};

/// A group of CPU devices, whose slots are so small that tensors need several windows.
class Replicas {
 public:
  explicit Replicas(const CpuDeviceOptions& options) : cpu_(options) {
    for (const auto& stream : cpu_.streams)
      streams_.push_back(stream.get());
    group_ = DeviceGroup::make(streams_, 0).value();
  }

  const CpuDevices& cpu() const { return cpu_; }
  DeviceGroup& group() { return *group_; }

  RandomTensor make(const TensorShape& shape) {
    RandomTensor made = {.format = shape.format, .tensor = {.count = shape.count}};
    const size_t bytes = shape.count * shape.format.bytes;
    const auto allocate = [&](size_t i) {
      auto& device = static_cast<CpuDevice&>(cpu_.device(i));
      return (shape.pooled ? device.allocate_pooled(bytes) : device.allocate(bytes)).value();
    };
    for (size_t i = 0; i < cpu_.devices.size(); ++i) {
      made.values.emplace_back(shape.format, shape.count, 0).fill(random_);
      made.inputs.push_back(allocate(i));
      std::byte* output = made.inputs[i].at();
      if (!shape.in_place) {
        made.outputs.push_back(allocate(i));
        output = made.outputs[i].at();
      }
      made.tensor.inputs.push_back(made.inputs[i].at());
      made.tensor.outputs.push_back(output);
      REQUIRE(cpu_.stream(i).copy({made.inputs[i].at(), made.values[i].at(), bytes}).has_value());
    }
    return made;
  }

  /// Waits for all work, and compares all outputs with the plain fold, and inputs with themselves.
  void check_results(const RandomTensor& made, const CrossDeviceTerms& terms) {
    REQUIRE(group_->synchronize(much_later()).has_value());
    const std::vector<std::byte> expected = made.expected(terms);
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      CAPTURE(i);
      if (made.tensor.outputs[i] != nullptr)
        REQUIRE(std::equal(expected.begin(), expected.end(), made.tensor.outputs[i]));
      if (!made.outputs.empty())
        REQUIRE(std::equal(made.values[i].at(), made.values[i].at() + expected.size(),
                           made.tensor.inputs[i]));
    }
  }

 private:
  CpuDevices cpu_;
  std::vector<DeviceStream*> streams_ = {};
  std::unique_ptr<DeviceGroup> group_;
  std::mt19937_64 random_{11};
};

constexpr ElementFormat float32_format = all_formats[8];
static_assert(float32_format.type == ElementType::float32);

/// Reduces two tensors, the second of which lies in memory that kernels of other devices cannot
/// use. CPU devices refuse these. `operation` takes Replicas, and tensors.
template <class Operation>
void check_pooled_memory(const Operation& operation) {
  for (const int n : {2, 3, 5}) {
    CAPTURE(n);
    for (const bool in_place : {true, false}) {
      Replicas replicas({.count = n});
      const RandomTensor plain = replicas.make({.format = float32_format, .count = 3});
      const RandomTensor pooled = replicas.make(
          {.format = float32_format, .count = 1333, .in_place = in_place, .pooled = true});
      const std::vector<ReplicatedTensor> tensors = {plain.tensor, pooled.tensor};
      const Result<> queued = operation(replicas, tensors);
      REQUIRE(queued.has_value());
      replicas.check_results(plain, {});
      replicas.check_results(pooled, {});
    }
  }
}

/// Calls `body` for each type, operation and order of the fold.
template <class Body>
void for_each_terms(const Body& body) {
  for (const ElementFormat& format : all_formats) {
    CAPTURE(static_cast<int>(format.type));
    for (const ReduceOp op : operations_of(format)) {
      CAPTURE(static_cast<int>(op));
      for (const FoldOrder order : {FoldOrder::rank, FoldOrder::halves}) {
        CAPTURE(static_cast<int>(order));
        body(format, CrossDeviceTerms{.type = format.type, .op = op, .order = order});
      }
    }
  }
}

/// Fails one call of all, counted over all devices and threads. Destructors synchronize, too, and
/// have nobody to get an error: those calls do not count.
class CountedFault {
 public:
  /// The call with number `fails_at` of those that are made, or of those that run.
  CountedFault(int fails_at, bool runs) : fails_at_(fails_at), runs_(runs) {}

  CallProbe probe() {
    return [this](const ProbedCall& call) -> Result<> {
      if (armed_ && call.call != DeviceCall::synchronize && call.runs == runs_ &&
          count_++ == fails_at_)
        return fail(Errc::os, "injected");
      return {};
    };
  }
  void arm() { armed_ = true; }
  /// True when the call has failed.
  bool fired() const { return count_ > fails_at_; }

 private:
  int fails_at_;
  bool runs_;
  std::atomic<bool> armed_ = false;
  std::atomic<int> count_ = 0;
};

/// Fails each call of `operation` in turn. Every time, an error must come back, all waits must end,
/// and the memory must be free afterwards. `operation` takes Replicas, terms and a tensor.
template <class Operation>
void check_all_faults(const Operation& operation) {
  constexpr size_t memory_bytes = 100'000;
  for (const bool runs : {false, true}) {
    CAPTURE(runs);
    bool fired = true;
    for (int fails_at = 0; fired; ++fails_at) {
      CAPTURE(fails_at);
      CountedFault fault(fails_at, runs);
      Replicas replicas(
          {.count = 3, .memory_bytes = memory_bytes, .peer_access = false, .probe = fault.probe()});
      const size_t free_before = replicas.cpu().device(0).memory().free_bytes;
      {
        const RandomTensor made = replicas.make({.format = float32_format, .count = 70});
        REQUIRE(replicas.group().synchronize(much_later()).has_value());
        fault.arm();
        const Result<> queued = operation(replicas, made);
        const Result<> finished = replicas.group().synchronize(much_later());
        fired = fault.fired();
        REQUIRE((queued.has_value() && finished.has_value()) == !fired);
        if (fired && runs) {
          CHECK(finished.error().message.find("injected") != std::string::npos);
        }
      }
      CHECK(replicas.cpu().device(0).memory().free_bytes == free_before);
    }
  }
}

}  // namespace dt
