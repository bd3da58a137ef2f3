#pragma once

#include "base/result.h"
#include "cmd/bench/bench_options.h"
#include "cmd/export_command.h"
#include "cmd/job_words.h"
#include "cmd/ps_command.h"
#include "launcher/check/check.h"
#include "launcher/config/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// The parsed command line.
struct Invocation {
  enum class Command : uint8_t {
    help,
    version,
    check_build,
    config_show,
    check,
    bench,
    cache,
    ps,
    token,
    job,
    export_job,
    run
  };
  Command command = Command::help;
  OptionSource flags;              ///< run, check, bench, config show: options of run as typed
  std::vector<std::string> words;  ///< run: the workers' command; cache: list or clear
  BenchOptions bench = {};         ///< bench: its own options
  CheckOptions check = {};         ///< check: its own options
  PsOptions ps = {};               ///< ps: its options
  JobWords job = {};               ///< job: all of it
  ExportWords exported = {};       ///< export: all of it
  bool json = false;               ///< version, config show: --json
  bool origin = false;             ///< config show --origin
  bool all = false;                ///< config show --all
  std::string help;                ///< help: the text for stdout
  bool operator==(const Invocation&) const = default;
};

/// Parses the words after the program's name. All words from the first one of the workers' command
/// on belong to that command; `--` ends options. Does not handle the hidden `agent`.
Result<Invocation> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace dt
