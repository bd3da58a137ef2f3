#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The commands that help shows.
std::vector<std::string> command_names();
/// What `dtrain help TOPIC` prints, at most 80 columns wide; an empty topic is the overview. The
/// topic is one of command_names().
std::string help_text(std::string_view topic);

}  // namespace dt
