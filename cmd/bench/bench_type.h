#pragma once

#include "comm/include/dtrain/dtrain.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// An element type of libdtrain, as `-d` names it.
struct BenchType {
  std::string_view names;  ///< the usual name first, then those of nccl-tests
  dtrain_type number = DTRAIN_FLOAT32;
  size_t bytes = 0;           ///< of one element
  uint64_t integers_max = 0;  ///< all integers up to this one are exact
  bool floating = false;
  std::string_view name() const { return names.substr(0, names.find(' ')); }
};

/// A reduction of libdtrain, as `-o` names it.
struct BenchReduction {
  std::string_view names;  ///< the name of nccl-tests first
  dtrain_op number = DTRAIN_SUM;
  std::string_view name() const { return names.substr(0, names.find(' ')); }
};

std::span<const BenchType> bench_types();
/// Each returns null for a name that the table does not have.
const BenchType* find_bench_type(std::string_view name);
const BenchReduction* find_bench_reduction(std::string_view name);
std::vector<std::string> bench_type_names();
std::vector<std::string> bench_reduction_names();

/// Returns the bytes of an element of the type with that number of dtrain.h; 0 for another number.
size_t bench_type_bytes(int number);

}  // namespace dt
