#pragma once

#include "base/environment.h"

#include <span>
#include <string>

namespace dt {

/// The program of each rank of `dtrain bench`, with the words of rank_words() and the variables of
/// the process. Rank 0 prints.
/// Returns the exit status: 0, or 1 when a call failed or a result was wrong.
int run_bench_rank(std::span<const std::string> words, const Environment& environment);

}  // namespace dt
