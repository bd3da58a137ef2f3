#include "base/bytes.h"
#include "base/kernels/float8.h"
#include "base/kernels/half.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr int ranks = 5;

/// Where the ranks run.
struct Layout {
  int per_host = 1;
  dtrain::Transport transport = dtrain::Transport::automatic;
  std::string algorithms = "deterministic";
};

size_t bytes_of(dtrain_type type) {
  if (type == DTRAIN_FLOAT64) return 8;
  return type == DTRAIN_FLOAT32 ? 4 : 2;
}

template <class T>
void put(Bytes& bytes, size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
}

/// Values whose sums depend on the order in which they are added.
Bytes input_of(int rank, dtrain_type type, size_t count) {
  Bytes bytes(count * bytes_of(type));
  for (size_t i = 0; i < count; ++i) {
    const double value =
        1.0 / static_cast<double>((i * 7 + static_cast<size_t>(rank) * 13) % 97 + 3);
    Float16 half;
    BFloat16 brief;
    Float8E4M3 small;
    Float8E5M2 smaller;
    from_float(static_cast<float>(value), half);
    from_float(static_cast<float>(value), brief);
    from_float(static_cast<float>(value), small);
    from_float(static_cast<float>(value), smaller);
    if (type == DTRAIN_FLOAT64) put(bytes, i, value);
    if (type == DTRAIN_FLOAT32) put(bytes, i, static_cast<float>(value));
    if (type == DTRAIN_FLOAT16) put(bytes, i, half);
    if (type == DTRAIN_BFLOAT16) put(bytes, i, brief);
    if (type == DTRAIN_FLOAT8_E4M3) put(bytes, i, small);
    if (type == DTRAIN_FLOAT8_E5M2) put(bytes, i, smaller);
  }
  return bytes;
}

template <class Array>
Bytes to_bytes(const Array& values) {
  const ByteSpan bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// The results of a job, by call and rank.
class Results {
 public:
  void add(const std::string& call, int rank, Bytes bytes) {
    const std::scoped_lock lock(mutex_);
    bytes_[call + " on rank " + std::to_string(rank)] = std::move(bytes);
  }
  const std::map<std::string, Bytes>& bytes() const { return bytes_; }

 private:
  std::mutex mutex_;
  std::map<std::string, Bytes> bytes_;
};

void reduce_all_kinds(dtrain::Context& context, Results& results, dtrain_type type, size_t count) {
  const int rank = context.rank();
  const Bytes input = input_of(rank, type, count);
  const Bytes parts = input_of(rank, type, count * ranks);
  for (const dtrain_op op : {DTRAIN_SUM, DTRAIN_AVERAGE}) {
    const std::string call =
        std::to_string(type) + ", " + std::to_string(count) + ", op " + std::to_string(op) + ": ";
    dtrain_error error = new_error();
    Bytes all(input.size());
    CHECK(dtrain_all_reduce(context.get(), {input.data(), all.data(), count, type}, op, nullptr,
                            &error) == DTRAIN_OK);
    results.add(call + "all_reduce", rank, all);
    Bytes own(input.size());
    CHECK(dtrain_reduce_scatter(context.get(), {parts.data(), own.data(), count, type}, op, nullptr,
                                &error) == DTRAIN_OK);
    results.add(call + "reduce_scatter", rank, own);
    Bytes rooted(input.size());
    CHECK(dtrain_reduce(context.get(), {input.data(), rooted.data(), count, type}, op, 3, nullptr,
                        &error) == DTRAIN_OK);
    if (rank == 3) results.add(call + "reduce", rank, rooted);
  }
}

void check_ok(int status, const dtrain_error& error) {
  CHECK_MESSAGE(status == DTRAIN_OK, error.text);
}

/// Reductions that move other data than their buffers.
void reduce_in_other_forms(dtrain::Context& context, Results& results) {
  constexpr size_t rows = 300;
  constexpr size_t width = 17;
  const Bytes input = input_of(context.rank(), DTRAIN_FLOAT32, rows * width);
  std::vector<float> values(rows * width);
  std::memcpy(values.data(), input.data(), input.size());
  std::vector<float> result = values;
  context.all_reduce(result, dtrain::Op::sum, {.compression = dtrain::Compression::bfloat16});
  results.add("compressed", context.rank(), to_bytes(result));
  result = values;
  context.all_reduce(result, dtrain::Op::adasum);
  results.add("adasum", context.rank(), to_bytes(result));
  // One in nine rows is sparse, and half of them are dense.
  for (const size_t given : {rows / 9, rows / 2}) {
    std::vector<int64_t> indices;
    for (size_t i = 0; i < given; ++i)
      indices.push_back(static_cast<int64_t>(i * 7 % rows));
    const auto merged = context.all_reduce_sparse(indices, std::span(values).first(given * width),
                                                  {.rows = rows, .width = width});
    const std::string call = "sparse " + std::to_string(given);
    results.add(call, context.rank(), to_bytes(merged.values()));
  }
}

constexpr int tensors = 30;

Bytes tensor(int rank, int which) {
  return input_of(rank, DTRAIN_FLOAT32, static_cast<size_t>(which * which) * 5 + 1);
}

/// The terms of a tensor. Their names and scales are those of every way to reduce it.
dtrain_op_options options_of(const std::string& name, int which) {
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.name = name.c_str();
  options.postscale = which % 3 == 0 ? 0.3 : 0;
  return options;
}

/// Named calls, which each rank makes in another order. They are fused as they meet.
std::vector<Bytes> reduce_named(dtrain::Context& context) {
  std::vector<Bytes> values(tensors);
  std::vector<dtrain_work*> works;
  for (int i = 0; i < tensors; ++i) {
    const int which = (i * 7 + context.rank() * 11) % tensors;
    Bytes& own = values[static_cast<size_t>(which)] = tensor(context.rank(), which);
    const std::string name = "t" + std::to_string(which);
    const dtrain_op_options options = options_of(name, which);
    works.push_back(dtrain_all_reduce_async(
        context.get(), {nullptr, own.data(), own.size() / sizeof(float), DTRAIN_FLOAT32},
        DTRAIN_SUM, &options, nullptr));
  }
  for (dtrain_work* work : works) {
    CHECK(dtrain_work_wait(work, -1, nullptr) == DTRAIN_OK);
    dtrain_work_free(work);
  }
  return values;
}

/// The same tensors, each alone, with a name or without.
std::vector<Bytes> reduce_one_by_one(dtrain::Context& context, bool by_name) {
  std::vector<Bytes> values;
  for (int which = 0; which < tensors; ++which) {
    Bytes own = tensor(context.rank(), which);
    const std::string name = "t" + std::to_string(which);
    dtrain_op_options options = options_of(name, which);
    if (!by_name) options.name = nullptr;
    dtrain_error error = new_error();
    const dtrain_buffers buffers = {nullptr, own.data(), own.size() / sizeof(float),
                                    DTRAIN_FLOAT32};
    check_ok(dtrain_all_reduce(context.get(), buffers, DTRAIN_SUM, &options, &error), error);
    values.push_back(std::move(own));
  }
  return values;
}

/// The same tensors in one call. A call has one scale, so those with another one are not in it.
std::vector<Bytes> reduce_as_list(dtrain::Context& context) {
  std::vector<Bytes> values;
  std::vector<std::vector<float>> list;
  for (int which = 0; which < tensors; ++which) {
    const Bytes own = tensor(context.rank(), which);
    list.emplace_back(own.size() / sizeof(float));
    std::memcpy(list.back().data(), own.data(), own.size());
  }
  context.all_reduce_list(list);
  for (const std::vector<float>& each : list)
    values.push_back(to_bytes(each));
  return values;
}

/// The same tensors, reduced in each way.
void reduce_fused_and_alone(dtrain::Context& context, Results& results) {
  const std::pair<std::string, std::vector<Bytes>> ways[] = {
      {"fused", reduce_named(context)},
      {"named", reduce_one_by_one(context, true)},
      {"unnamed", reduce_one_by_one(context, false)},
      {"list", reduce_as_list(context)}};
  for (const auto& [way, values] : ways)
    for (int which = 0; which < tensors; ++which)
      results.add(way + ' ' + std::to_string(which), context.rank(),
                  values[static_cast<size_t>(which)]);
}

std::map<std::string, Bytes> results_in(const Layout& layout) {
  World world({.size = ranks,
               .per_host = layout.per_host,
               .transport = layout.transport,
               .algorithms = layout.algorithms});
  Results results;
  check_all_well(world.run([&](dtrain::Context& context) {
    for (const dtrain_type type : {DTRAIN_FLOAT16, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, DTRAIN_FLOAT64,
                                   DTRAIN_FLOAT8_E4M3, DTRAIN_FLOAT8_E5M2})
      for (const size_t count : {size_t{1}, size_t{33}, size_t{5003}, size_t{70001}})
        reduce_all_kinds(context, results, type, count);
    reduce_in_other_forms(context, results);
    reduce_fused_and_alone(context, results);
  }));
  return results.bytes();
}

TEST_CASE("deterministic reductions have the same bits on every layout of the ranks") {
  const auto wanted = results_in({.per_host = ranks});
  const Layout layouts[] = {{.per_host = ranks, .transport = dtrain::Transport::tcp},
                            {.per_host = 3},
                            {.per_host = 2},
                            {.per_host = 1}};
  for (const Layout& layout : layouts) {
    CAPTURE(layout.per_host);
    const auto results = results_in(layout);
    REQUIRE(results.size() == wanted.size());
    for (const auto& [call, bytes] : results)
      CHECK_MESSAGE(bytes == wanted.at(call), call);
  }
}

TEST_CASE("deterministic reductions have the same bits, however tensors are fused") {
  const auto results = results_in({.per_host = 2});
  for (int rank = 0; rank < ranks; ++rank) {
    for (int which = 0; which < tensors; ++which) {
      const std::string tensor = std::to_string(which) + " on rank " + std::to_string(rank);
      CAPTURE(tensor);
      CHECK(results.at("named " + tensor) == results.at("fused " + tensor));
      CHECK(results.at("unnamed " + tensor) == results.at("fused " + tensor));
      // A list has one scale.
      if (which % 3 != 0) CHECK(results.at("list " + tensor) == results.at("fused " + tensor));
    }
  }
}

TEST_CASE("other algorithms give other bits for the same inputs") {
  CHECK(results_in({.per_host = ranks}) != results_in({.per_host = 1, .algorithms = "ring"}));
}

TEST_CASE("dtrain_algorithms shows what a deterministic job uses") {
  World world({.size = 2, .per_host = 1, .algorithms = "deterministic,broadcast=tree"});
  check_all_well(world.run([&](dtrain::Context& context) {
    std::string text(dtrain_algorithms(context.get(), nullptr, 0), '\0');
    dtrain_algorithms(context.get(), text.data(), text.size() + 1);
    CHECK(contains(text, "all_reduce=rank_order,"));
    CHECK(contains(text, "reduce_scatter=rank_order,reduce=rank_order,"));
  }));
}

}  // namespace
}  // namespace dt
