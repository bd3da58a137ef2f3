#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "comm/training/ps/state/optimizer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

inline constexpr size_t ps_variable_name_bytes_max = 250;
inline constexpr size_t variable_dims_max = 16;
/// The most bytes of a variable, so that no count of elements or bytes overflows.
inline constexpr uint64_t ps_variable_bytes_max = uint64_t{1} << 48;

/// A variable of the job, as a worker declares it.
struct VariableSpec {
  std::string name;
  ElementType type = ElementType::float32;  ///< or float64
  std::vector<uint64_t> shape = {};         ///< none: one number
  OptimizerSettings optimizer = {};
  bool operator==(const VariableSpec&) const = default;

  /// The size of the first dimension, in which a variable is divided; 1 for a single number.
  uint64_t rows() const { return shape.empty() ? 1 : shape.front(); }
  /// The numbers of one row.
  uint64_t row_elements() const;
  uint64_t row_bytes() const { return row_elements() * element_bytes(type); }
  uint64_t bytes() const { return rows() * row_bytes(); }
  /// "float32[10,3], adam".
  std::string text() const;
};

/// Fails with Errc::input, which names the variable, for a name that is empty or too long. The same
/// holds for another type than float32 and float64, and for too many dimensions or bytes. Also
/// checks the optimiser's settings.
Result<> check_ps_variable(const VariableSpec& variable);

/// The rows of a variable that one server has.
struct ShardSpec {
  uint32_t number = 0;    ///< among all shards of the job
  uint32_t variable = 0;  ///< among all variables
  uint64_t first_row = 0;
  uint64_t rows = 0;
  bool operator==(const ShardSpec&) const = default;
};

}  // namespace dt
