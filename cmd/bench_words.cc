#include "cmd/bench_words.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/run_arguments.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// The spellings of bench's own options.
struct OwnSpellings {
  std::vector<std::string_view> flags;
  std::vector<OwnOption> valued;
};

OwnSpellings own_spellings() {
  OwnSpellings all;
  for (const BenchOption& option : bench_options()) {
    if (option.hidden) continue;
    for (const std::string_view spelling : split_words(option.spellings)) {
      if (option.placeholder.empty()) {
        all.flags.push_back(spelling);
      } else {
        all.valued.push_back({spelling, option.placeholder});
      }
    }
  }
  return all;
}

Result<RunArguments> read_options(std::span<const std::string> words) {
  const OwnSpellings own = own_spellings();
  return read_run_arguments(words, {.command = "bench",
                                    .own_flags = own.flags,
                                    .takes = is_bench_option,
                                    .own_options = own.valued});
}

}  // namespace

Result<BenchWords> read_bench_words(std::span<const std::string> words) {
  std::vector<std::string> options(words.begin(), words.end());
  std::string operation;
  RunArguments read = TRY(read_options(options));
  // The first word that is no option is the operation; more options may follow it.
  if (!read.command.empty() && read.prints == nullptr) {
    operation = read.command.front();
    options.erase(options.end() - static_cast<ptrdiff_t>(read.command.size()));
    read = TRY(read_options(options));
  }
  if (read.prints != nullptr) return BenchWords{.help = true, .flags = {}, .bench = {}};
  if (!read.command.empty()) {
    return fail(Errc::input, format("bench: \"{}\" comes after the operation {}, and one is "
                                    "measured at a time; see: dtrain help bench",
                                    printable(read.command.front()), printable(operation)));
  }
  std::vector<TypedOption> typed;
  for (const std::string& flag : read.own)
    typed.push_back({flag});
  for (auto& [spelling, value] : read.own_values)
    typed.push_back({spelling, std::move(value)});
  const bool explains = std::ranges::count(typed, "--explain", &TypedOption::spelling) > 0;
  if (explains && !operation.empty()) {
    return fail(Errc::input, format("bench: --explain is about all operations; leave out {}",
                                    printable(operation)));
  }
  if (explains) operation = row_of(BenchOperation::all_reduce).name;
  BenchOptions bench = TRY(parse_bench_options(operation, typed));
  return BenchWords{.help = false, .flags = std::move(read.flags), .bench = std::move(bench)};
}

}  // namespace dt
