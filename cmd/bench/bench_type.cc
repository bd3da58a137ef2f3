#include "cmd/bench/bench_type.h"

#include "base/text.h"
#include "comm/include/dtrain/dtrain.h"

#include <algorithm>
#include <array>

namespace dt {
namespace {

constexpr std::array types = {
    BenchType{"float32 float", DTRAIN_FLOAT32, 4, uint64_t{1} << 24, true},
    BenchType{"float64 double", DTRAIN_FLOAT64, 8, uint64_t{1} << 53, true},
    BenchType{"float16 half", DTRAIN_FLOAT16, 2, uint64_t{1} << 11, true},
    BenchType{"bfloat16", DTRAIN_BFLOAT16, 2, uint64_t{1} << 8, true},
    BenchType{"int8 char", DTRAIN_INT8, 1, 127, false},
    BenchType{"uint8", DTRAIN_UINT8, 1, 255, false},
    BenchType{"int16 short", DTRAIN_INT16, 2, (uint64_t{1} << 15) - 1, false},
    BenchType{"uint16", DTRAIN_UINT16, 2, (uint64_t{1} << 16) - 1, false},
    BenchType{"int32 int", DTRAIN_INT32, 4, (uint64_t{1} << 31) - 1, false},
    BenchType{"uint32", DTRAIN_UINT32, 4, (uint64_t{1} << 32) - 1, false},
    BenchType{"int64", DTRAIN_INT64, 8, uint64_t{1} << 53, false},
    BenchType{"uint64", DTRAIN_UINT64, 8, uint64_t{1} << 53, false},
    BenchType{"bool", DTRAIN_BOOL, 1, 1, false},
    BenchType{"float8_e4m3 f8e4m3", DTRAIN_FLOAT8_E4M3, 1, uint64_t{1} << 4, true},
    BenchType{"float8_e5m2 f8e5m2", DTRAIN_FLOAT8_E5M2, 1, uint64_t{1} << 3, true},
};

constexpr std::array reductions = {
    BenchReduction{"sum", DTRAIN_SUM},
    BenchReduction{"prod product", DTRAIN_PRODUCT},
    BenchReduction{"min", DTRAIN_MIN},
    BenchReduction{"max", DTRAIN_MAX},
    BenchReduction{"avg average", DTRAIN_AVERAGE},
};

template <class Row, size_t count>
const Row* find_named(const std::array<Row, count>& rows, std::string_view name) {
  const auto* const found = std::ranges::find_if(rows, [name](const Row& row) {
    return std::ranges::count(split_words(row.names), name) > 0;
  });
  return found == rows.end() ? nullptr : found;
}

template <class Row, size_t count>
std::vector<std::string> names_of(const std::array<Row, count>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows)
    names.emplace_back(row.name());
  return names;
}

}  // namespace

std::span<const BenchType> bench_types() {
  return types;
}

const BenchType* find_bench_type(std::string_view name) {
  return find_named(types, name);
}

const BenchReduction* find_bench_reduction(std::string_view name) {
  return find_named(reductions, name);
}

std::vector<std::string> bench_type_names() {
  return names_of(types);
}

std::vector<std::string> bench_reduction_names() {
  return names_of(reductions);
}

size_t bench_type_bytes(int number) {
  for (const BenchType& type : bench_types())
    if (type.number == number) return type.bytes;
  return 0;
}

}  // namespace dt
