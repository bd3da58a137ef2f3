#include "cmd/bench/measure.h"

#include "base/clock.h"
#include "base/format.h"
#include "comm/include/dtrain/dtrain.h"

#include <algorithm>
#include <cstring>

namespace dt {
namespace {

using Whole = OperationRow::Whole;

double us_since(Time begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Only libdtrain has memory of its own.
BenchBuffer::Kind kind_of_buffers(const BenchOptions& options, const BenchDevice* device) {
  if (device != nullptr) return BenchBuffer::Kind::device;
  const bool library = options.buffers == "dtrain" && options.library == "dtrain";
  return library ? BenchBuffer::Kind::library : BenchBuffer::Kind::user;
}

}  // namespace

Measurement::Measurement(CollectiveWorld& world, const BenchOptions& options, BenchDevice* device)
    : world_(world),
      options_(options),
      row_(row_of(options.operation)),
      type_(options.element()),
      pattern_(type_, options.reduce_op(), {.rank = world.rank(), .size = world.size()}),
      input_(world, kind_of_buffers(options, device), device),
      output_(world, kind_of_buffers(options, device), device) {
}

Result<std::vector<CallShape>> Measurement::shapes() const {
  if (options_.operation == BenchOperation::latency && world_.size() < 2) {
    return fail(Errc::input, "bench: a latency is that between two ranks; give -np 2");
  }
  std::vector<CallShape> shapes;
  for (const uint64_t bytes : bench_sizes(options_)) {
    const CallShape shape = shape_of(row_, bytes, type_.bytes, world_.size());
    if (shape.count >= options_.tensor_count()) shapes.push_back(shape);
  }
  if (!shapes.empty()) return shapes;
  if (options_.operation == BenchOperation::fusion) {
    return fail(Errc::input,
                format("bench: no size up to -e {} has room for {} tensors of {}; give a larger -e",
                       options_.bytes_max, options_.tensor_count(), type_.name()));
  }
  return fail(
      Errc::input,
      format("bench: no size up to -e {} has room for {} element(s) of {}; give a larger "
             "-e",
             options_.bytes_max, row_.whole == Whole::neither ? 1 : world_.size(), type_.name()));
}

Result<SizeResult> Measurement::measure(const CallShape& shape) {
  TRY(input_.reserve(shape.input * type_.bytes));
  TRY(output_.reserve(shape.output * type_.bytes));
  if (options_.operation == BenchOperation::fusion)
    plan_ = TensorPlan(tensors_of(shape), world_.rank());
  SizeResult result = {.shape = shape};
  // The common line of all benchmarks has only the time in place.
  const bool both = options_.format != BenchFormat::peers;
  if (both || !row_.in_place) result.out_of_place = TRY(measure_mode(shape, false));
  if (row_.in_place) result.in_place = TRY(measure_mode(shape, true));
  return result;
}

Result<Timing> Measurement::measure_mode(const CallShape& shape, bool in_place) {
  const uint64_t wrong = TRY(verify(shape, in_place));
  // Zeros stay zeros, also when one call adds to the result of the call before.
  TRY(clear(shape));
  const CollectiveCall call = call_of(shape, in_place);
  const int calls = TRY(warm_up(call));
  std::vector<double> each = TRY(time_each(call, calls));
  double mean = TRY(time_all(call, calls));
  // A latency is one way of a message, and a call is both.
  if (options_.operation == BenchOperation::latency) {
    std::ranges::for_each(each, [](double& us) { us /= 2; });
    mean /= 2;
  }
  Timing timing = timing_of(std::move(each));
  timing.mean_us = mean;
  timing.wrong = wrong;
  return timing;
}

Result<> Measurement::clear(const CallShape& shape) {
  const size_t input = shape.input * type_.bytes;
  const size_t output = shape.output * type_.bytes;
  std::memset(input_.host(), 0, input);
  std::memset(output_.host(), 0, output);
  TRY(input_.upload(input));
  return output_.upload(output);
}

CollectiveCall Measurement::call_of(const CallShape& shape, bool in_place) {
  return {.operation = options_.operation,
          .input = in_place ? nullptr : input_.data(),
          .output = output_.data(),
          .count = shape.count,
          .type = type_.number,
          .reduction = options_.reduce_op().number,
          .plan = &plan_,
          .fused = options_.fused.value_or(true)};
}

std::vector<size_t> Measurement::tensors_of(const CallShape& shape) const {
  if (std::optional<std::vector<size_t>> model = bench_model(options_.tensors_or_default()))
    return *std::move(model);
  return equal_tensors(shape.count, options_.tensor_count());
}

Result<uint64_t> Measurement::verify(const CallShape& shape, bool in_place) {
  const std::span<std::byte> input(input_.host(), shape.input * type_.bytes);
  const std::span<std::byte> output(output_.host(), shape.output * type_.bytes);
  const Bytes own = pattern_.input_of(world_.rank());
  std::ranges::fill(output, std::byte{0xff});
  pattern_.fill(input, own, 0);
  if (in_place) {
    const size_t part = shape.count * type_.bytes;
    const auto rank = static_cast<size_t>(world_.rank());
    pattern_.fill(output.subspan(row_.whole == Whole::output ? rank * part : 0, part), own, 0);
  }
  TRY(input_.upload(input.size()));
  TRY(output_.upload(output.size()));
  TRY(world_.run(call_of(shape, in_place)));
  TRY(output_.download(output.size()));
  auto wrong = static_cast<int64_t>(count_wrong(shape));
  TRY(world_.run({.operation = BenchOperation::all_reduce,
                  .output = &wrong,
                  .count = 1,
                  .type = DTRAIN_INT64,
                  .reduction = DTRAIN_SUM}));
  return static_cast<uint64_t>(wrong);
}

uint64_t Measurement::count_wrong(const CallShape& shape) const {
  const ByteSpan output(output_.host(), shape.output * type_.bytes);
  const auto rank = static_cast<size_t>(world_.rank());
  switch (options_.operation) {
    case BenchOperation::all_reduce:
    case BenchOperation::fusion:
      return pattern_.count_wrong(output, pattern_.reduced(), 0);
    case BenchOperation::reduce_scatter:
      return pattern_.count_wrong(output, pattern_.reduced(), rank * shape.count);
    case BenchOperation::broadcast:
      return pattern_.count_wrong(output, pattern_.input_of(0), 0);
    case BenchOperation::all_gather:
      return count_wrong_parts(shape, 0);
    case BenchOperation::all_to_all:
      return count_wrong_parts(shape, rank * shape.count);
    case BenchOperation::reduce:
      return rank > 0 ? 0 : pattern_.count_wrong(output, pattern_.reduced(), 0);
    case BenchOperation::gather:
      return rank > 0 ? 0 : count_wrong_parts(shape, 0);
    case BenchOperation::scatter:
      return pattern_.count_wrong(output, pattern_.input_of(0), rank * shape.count);
    case BenchOperation::latency:
      return rank > 1 ? 0 : pattern_.count_wrong(output, pattern_.input_of(0), 0);
  }
  return 0;
}

uint64_t Measurement::count_wrong_parts(const CallShape& shape, size_t first) const {
  const ByteSpan output(output_.host(), shape.output * type_.bytes);
  const size_t part = shape.count * type_.bytes;
  uint64_t wrong = 0;
  for (int rank = 0; rank < world_.size(); ++rank)
    wrong += pattern_.count_wrong(output.subspan(static_cast<size_t>(rank) * part, part),
                                  pattern_.input_of(rank), first);
  return wrong;
}

Result<int> Measurement::warm_up(const CollectiveCall& call) {
  if (!options_.ms_per_size) {
    for (int i = 0; i < options_.warmups; ++i) {
      TRY(world_.run(call));
      TRY(world_.barrier());
    }
    return options_.calls_max();
  }
  // The first calls may make connections and touch memory; they count for nothing.
  TRY(world_.run(call));
  TRY(world_.run(call));
  TRY(world_.barrier());
  const double budget_us = *options_.ms_per_size * 1e3;
  const Time begin = Clock::now();
  double elapsed_us = 0;
  int done = 0;
  while (elapsed_us < budget_us / 5 && done < options_.calls_max()) {
    TRY(world_.run(call));
    TRY(world_.barrier());
    ++done;
    elapsed_us = us_since(begin);
    // All ranks must stop at the same call.
    TRY(maximum({&elapsed_us, 1}));
  }
  return calls_within(budget_us, elapsed_us / done, options_.calls_max());
}

Result<std::vector<double>> Measurement::time_each(const CollectiveCall& call, int calls) {
  std::vector<double> times_us(static_cast<size_t>(calls));
  for (double& us : times_us) {
    TRY(world_.barrier());
    const Time begin = Clock::now();
    TRY(world_.run(call));
    us = us_since(begin);
  }
  TRY(maximum(times_us));
  return times_us;
}

Result<double> Measurement::time_all(const CollectiveCall& call, int calls) {
  TRY(world_.barrier());
  const Time begin = Clock::now();
  for (int i = 0; i < calls; ++i)
    TRY(world_.run(call));
  double mean_us = us_since(begin) / calls;
  TRY(maximum({&mean_us, 1}));
  return mean_us;
}

Result<> Measurement::maximum(std::span<double> numbers) {
  return world_.run({.operation = BenchOperation::all_reduce,
                     .output = numbers.data(),
                     .count = numbers.size(),
                     .type = DTRAIN_FLOAT64,
                     .reduction = DTRAIN_MAX});
}

}  // namespace dt
