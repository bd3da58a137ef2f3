#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

inline constexpr std::string_view dtrain_label = "dtrain";
inline constexpr std::string_view mpi_label = "ompi";

/// Returns the number of ranks in the lines of BenchFormat::peers; 0: there is no such line.
int ranks_in_lines(std::string_view lines);

/// Compares the lines of both libraries: a table of p50 by size, with ratios below 1 where dtrain
/// is faster. Fails when both did not measure the same with equally many ranks.
Result<std::string> comparison_text(std::string_view lines);

}  // namespace dt
