#pragma once

#include <string>
#include <string_view>

namespace dt {

/// Formats running text for mdoc(7): lines of at most 78 characters, and a new line for each
/// sentence. Escapes text that mdoc would read as a request or a macro.
std::string mdoc_text(std::string_view text);

/// The lists of the pages. They are made from the tables that drive the command line, so that both
/// agree. They have the commands, and the options of `run` by groups. The keys of dtrain.toml are
/// these options, with types, spellings and variables.
std::string mdoc_commands();
std::string mdoc_options();
std::string mdoc_keys();
/// Returns the options of `check`.
std::string mdoc_check_options();

/// Returns the options of `bench` itself, and those of `run` that it takes.
std::string mdoc_bench_options();
std::string mdoc_bench_run_options();

/// Replaces each line @COMMANDS@, @OPTIONS@, @KEYS@, @CHECK_OPTIONS@, @BENCH_OPTIONS@ and
/// @BENCH_RUN_OPTIONS@ of a page's source by its list.
std::string mdoc_page(std::string_view source);

}  // namespace dt
