#include "launcher/config/setup_settings.h"

#include "base/text.h"
#include "launcher/config/option_value.h"

#include <string>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// Fails for an option of the command line that has no effect without commands. In a file, it is a
/// setting for jobs that have some.
Result<> check_unused_setup(const OptionSources& sources) {
  for (const std::string_view name : {"setup-timeout", "setup-once"}) {
    const auto given = find_option(sources, name);
    if (given && given->origin.starts_with('-'))
      return given->refuse("without --setup COMMAND, no host is set up");
  }
  return {};
}

}  // namespace

Result<> read_setup(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "setup");
  if (!given) return check_unused_setup(sources);
  SetupOptions setup;
  for (const std::string& command : *given->values) {
    const bool blank = trim(command).find_first_not_of("\r\n") == std::string_view::npos;
    if (blank || command.find('\0') != std::string::npos) {
      return given->refuse(
          "expected a command for a shell, such as 'pip install -r "
          "requirements.txt', got an empty one");
    }
    setup.commands.push_back(command);
  }
  if (const auto timeout = find_option(sources, "setup-timeout"))
    setup.timeout = TRY(timeout->positive_duration());
  if (const auto once = find_option(sources, "setup-once")) setup.once = TRY(once->flag());
  config.setup = std::move(setup);
  return {};
}

}  // namespace dt
