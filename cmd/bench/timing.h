#pragma once

#include "cmd/bench/operation.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// The times of one size in microseconds, each the maximum over ranks.
struct Timing {
  int iterations = 0;
  double min_us = 0;
  double p50_us = 0;
  double p99_us = 0;
  double mean_us = 0;  ///< of calls back to back; the others had a barrier before each call
  uint64_t wrong = 0;  ///< elements, over all ranks
  bool operator==(const Timing&) const = default;
};

/// Bandwidths in 1e9 bytes a second.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;
};

/// All that was measured of one size.
struct SizeResult {
  CallShape shape;
  std::optional<Timing> out_of_place = {};
  std::optional<Timing> in_place = {};
};

/// Returns minimum and percentiles of the times of single calls. Requires at least one.
Timing timing_of(std::vector<double> times_us);
Bandwidth bandwidth_of(const OperationRow& row, size_t bytes, double us, int ranks);

/// Returns how many calls fit into the time, from 5 to `calls_max`.
int calls_within(double budget_us, double call_us, int calls_max);

/// Returns the mean of the bus bandwidths by mean_us.
double average_bus(const OperationRow& row, const std::vector<SizeResult>& results, int ranks);
uint64_t wrong_in(const std::vector<SizeResult>& results);

}  // namespace dt
