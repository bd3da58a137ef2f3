#pragma once

#include <span>
#include <string>

namespace dt {

/// The program of each rank of `dtrain bench`, with the words of rank_words(). Rank 0 prints.
/// Returns the exit status: 0, or 1 when a call failed or a result was wrong.
int run_bench_rank(std::span<const std::string> words);

}  // namespace dt
