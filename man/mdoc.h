#pragma once

#include <string>
#include <string_view>

namespace dt {

/// Running text as mdoc(7) wants it: lines of at most 78 characters, a new one for each sentence,
/// with nothing that it would take for a request or a macro.
std::string mdoc_text(std::string_view text);

/// Lists made of the tables that drive the command line, so that the pages cannot say anything
/// else: the commands, the options of `run` by groups, and the same options as keys of dtrain.toml
/// with their types, spellings and variables.
std::string mdoc_commands();
std::string mdoc_options();
std::string mdoc_keys();
/// The options of `check`.
std::string mdoc_check_options();

/// A page's source with each line @COMMANDS@, @OPTIONS@, @KEYS@ and @CHECK_OPTIONS@ replaced by its
/// list.
std::string mdoc_page(std::string_view source);

}  // namespace dt
