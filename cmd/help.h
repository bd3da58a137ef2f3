#pragma once

#include "launcher/config/options.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A command that help shows.
struct CommandHelp {
  std::string_view name;
  std::string_view summary;
  std::string_view words = {};  ///< what may follow, for completion; run has its option table
};
std::span<const CommandHelp> commands();
std::vector<std::string> command_names();

/// The title under which help and the man page show a group of options.
struct OptionGroupTitle {
  OptionGroup group = OptionGroup::itself;
  std::string_view title;
};
std::span<const OptionGroupTitle> option_groups();

/// What `dtrain help TOPIC` prints, at most 80 columns wide; an empty topic is the overview. The
/// topic is one of command_names().
std::string help_text(std::string_view topic);

}  // namespace dt
