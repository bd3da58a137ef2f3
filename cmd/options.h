#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// What the command line asks for.
struct Invocation {
  enum class Command : uint8_t { help, version, check_build, config_show, check, run };
  Command command = Command::help;
  OptionSource flags;              ///< run, check, config show: options as typed
  std::vector<std::string> words;  ///< run: the workers' command
  bool json = false;               ///< version, check, config show: --json
  bool origin = false;             ///< config show --origin
  bool all = false;                ///< config show --all
  std::string help;                ///< help: what to print on stdout
  bool operator==(const Invocation&) const = default;
};

/// Reads the words after the program's name. Everything behind the first word of the workers'
/// command belongs to that command; `--` ends options. The hidden `agent` is not known here.
Result<Invocation> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace dt
