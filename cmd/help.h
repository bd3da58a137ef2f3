#pragma once

#include "launcher/config/options.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A command as help shows it.
struct CommandHelp {
  std::string_view name;
  std::string_view summary;
  std::string_view words = {};  ///< that may follow, for completion; run has its option table
};
std::span<const CommandHelp> commands();
std::vector<std::string> command_names();

/// The title of a group of options in help and in the man page.
struct OptionGroupTitle {
  OptionGroup group = OptionGroup::itself;
  std::string_view title;
};
std::span<const OptionGroupTitle> option_groups();

/// Returns the output of `dtrain help TOPIC`, at most 80 columns wide. An empty topic is the
/// overview. Requires a topic of command_names().
std::string help_text(std::string_view topic);
/// Returns the output of `dtrain run -h`: the options that most jobs need, on one screen.
std::string short_run_help();
/// Returns the part of `dtrain help run` on one option.
std::string option_help(const Option& option);
/// Returns the line for a topic that only a manual page has: environment, toml, report.
std::optional<std::string> page_text(std::string_view topic);

}  // namespace dt
