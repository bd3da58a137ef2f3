#include "base/bytes.h"
#include "base/kernels/half.h"
#include "tests/unit/comm/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <mutex>
#include <string>
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

size_t bytes_of(int type) {
  if (type == DTRAIN_FLOAT64) return 8;
  return type == DTRAIN_FLOAT32 ? 4 : 2;
}

template <class T>
void put(Bytes& bytes, size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
}

/// Values whose sums depend on the order in which they are added.
Bytes input_of(int rank, int type, size_t count) {
  Bytes bytes(count * bytes_of(type));
  for (size_t i = 0; i < count; ++i) {
    const double value =
        1.0 / static_cast<double>((i * 7 + static_cast<size_t>(rank) * 13) % 97 + 3);
    Float16 half;
    BFloat16 brief;
    from_float(static_cast<float>(value), half);
    from_float(static_cast<float>(value), brief);
    if (type == DTRAIN_FLOAT64) put(bytes, i, value);
    if (type == DTRAIN_FLOAT32) put(bytes, i, static_cast<float>(value));
    if (type == DTRAIN_FLOAT16) put(bytes, i, half);
    if (type == DTRAIN_BFLOAT16) put(bytes, i, brief);
  }
  return bytes;
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

void reduce_all_kinds(dtrain::Context& context, Results& results, int type, size_t count) {
  const int rank = context.rank();
  const Bytes input = input_of(rank, type, count);
  const Bytes parts = input_of(rank, type, count * ranks);
  for (const int op : {DTRAIN_SUM, DTRAIN_AVERAGE}) {
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
    CHECK(dtrain_reduce(context.get(), {input.data(), rooted.data(), count, type}, {op, 3}, nullptr,
                        &error) == DTRAIN_OK);
    if (rank == 3) results.add(call + "reduce", rank, rooted);
  }
}

/// Named calls, which each rank makes in another order.
void reduce_named(dtrain::Context& context, Results& results) {
  constexpr int tensors = 30;
  std::vector<Bytes> values(tensors);
  std::vector<dtrain_work*> works;
  for (int i = 0; i < tensors; ++i) {
    const int which = (i * 7 + context.rank() * 11) % tensors;
    const auto index = static_cast<size_t>(which);
    const size_t count = index * index * 5 + 1;
    values[index] = input_of(context.rank(), DTRAIN_FLOAT32, count);
    const std::string name = "t" + std::to_string(which);
    dtrain_op_options options = {};
    options.struct_size = sizeof options;
    options.name = name.c_str();
    works.push_back(dtrain_all_reduce_async(context.get(),
                                            {nullptr, values[index].data(), count, DTRAIN_FLOAT32},
                                            DTRAIN_SUM, &options, nullptr));
  }
  for (dtrain_work* work : works) {
    CHECK(dtrain_work_wait(work, -1, nullptr) == DTRAIN_OK);
    dtrain_work_free(work);
  }
  for (int i = 0; i < tensors; ++i)
    results.add("named " + std::to_string(i), context.rank(), values[static_cast<size_t>(i)]);
}

std::map<std::string, Bytes> results_in(const Layout& layout) {
  World world({.size = ranks,
               .per_host = layout.per_host,
               .transport = layout.transport,
               .algorithms = layout.algorithms});
  Results results;
  check_all_well(world.run([&](dtrain::Context& context) {
    for (const int type : {DTRAIN_FLOAT16, DTRAIN_BFLOAT16, DTRAIN_FLOAT32, DTRAIN_FLOAT64})
      for (const size_t count : {size_t{1}, size_t{33}, size_t{5003}, size_t{70001}})
        reduce_all_kinds(context, results, type, count);
    reduce_named(context, results);
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
