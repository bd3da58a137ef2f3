#pragma once

#include "base/result.h"
#include "cmd/bench/bench_options.h"
#include "launcher/config/option_source.h"

#include <span>
#include <string>

namespace dt {

/// The words behind `dtrain bench`.
struct BenchWords {
  bool help = false;   ///< --help was typed, and the rest is empty
  OptionSource flags;  ///< options of run, as typed
  BenchOptions bench;
};

/// Reads the operation and all options, in any order. An option that both have, such as -n, is that
/// of bench. Fails with Errc::input.
Result<BenchWords> read_bench_words(std::span<const std::string> words);

}  // namespace dt
