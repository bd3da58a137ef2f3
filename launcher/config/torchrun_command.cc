#include "launcher/config/torchrun_command.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/option_value.h"
#include "launcher/config/output/local_streams.h"
#include "launcher/config/tables/other_launcher_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {
namespace {

/// The signals that dtrain passes to its processes, as SIGNALS of dtrain-run(1) has them.
constexpr std::array<std::string_view, 7> passed_signals = {
    "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"};

bool is_set(const OptionSources& sources, std::string_view name) {
  const auto given = find_option(sources, name);
  return given && given->flag().value_or(true);
}

/// Returns the interpreter of Python that PYTHON_EXEC names, as torchrun takes it from there.
std::string python_of(const Environment& environment) {
  const auto named = environment.find("PYTHON_EXEC");
  return named == environment.end() || named->second.empty() ? "python3" : named->second;
}

/// As torchrun does, starts a module, or a script whatever its mode, by an unbuffered Python.
/// A script may be on the hosts alone, so this does not check for the file.
Result<> add_python(const OptionSources& sources, const Environment& environment,
                    std::vector<std::string>& command) {
  for (const std::string_view name : {"module", "no-python"}) {
    if (const auto given = find_option(sources, name)) TRY(given->flag());
  }
  const bool as_it_is = is_set(sources, "no-python");
  if (is_set(sources, "module")) {
    const auto given = find_option(sources, "module");
    if (as_it_is) {
      return given->refuse(
          format("conflicts with {}; give one of them", find_option(sources, "no-python")->origin));
    }
    command.insert(command.begin(), {python_of(environment), "-u", "-m"});
    return {};
  }
  const bool is_script = !command.empty() && command.front().ends_with(".py");
  if (is_script && !as_it_is && is_torchrun(sources))
    command.insert(command.begin(), {python_of(environment), "-u"});
  return {};
}

StreamChoice without(const StreamChoice& redirected, const StreamChoice& copied) {
  return {.output = redirected.output && !copied.output,
          .error = redirected.error && !copied.error};
}

/// Returns the redirected streams that the console lacks. torchrun shows all that --tee copies.
LocalStreams hidden_streams(const LocalStreams& redirected, const LocalStreams& copied) {
  LocalStreams hidden = {.all = without(redirected.all, copied.all)};
  for (const LocalStreams* const streams : {&redirected, &copied}) {
    for (const auto& [rank, unused] : streams->of_ranks)
      hidden.of_ranks[rank] = without(redirected.of(rank), copied.of(rank));
  }
  return hidden;
}

/// Reads --redirects or --tee, which write the output to files.
Result<LocalStreams> read_files(const OptionSources& sources, std::string_view name,
                                RunConfig& config) {
  const auto given = find_option(sources, name);
  if (!given) return LocalStreams();
  const auto chosen = parse_local_streams(given->value());
  if (!chosen) {
    const bool is_time = name == "tee" && parse_duration(given->value());
    return given->refuse(chosen.error().message +
                         (is_time ? ": a time limit is --timeout TIME" : ""));
  }
  if (!chosen->any()) return *chosen;
  if (!config.output_dir && !config.no_macros) {
    config.output_dir = "/tmp/dtrain-logs-{job_id}";
    config.warnings.push_back(
        format("{}: the files are in {}; --log-dir DIR chooses another folder", given->origin,
               *config.output_dir));
  }
  if (!config.output_dir) return given->refuse("needs a folder for the files; add --log-dir DIR");
  return *chosen;
}

Result<> read_local_ranks(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "local-ranks-filter");
  if (!given) return {};
  for (const std::string_view word : split(given->value(), ',')) {
    const std::optional<int64_t> rank = parse_integer(trim(word));
    if (!rank || *rank < 0 || *rank >= slots_max)
      return given->expected("local ranks from 0, such as 0,1");
    config.shown_local_ranks.push_back(static_cast<int>(*rank));
  }
  return {};
}

}  // namespace

bool is_torchrun(const OptionSources& sources) {
  return std::ranges::any_of(torchrun_options, [&](const Option& option) {
    return option.name != "genv" && find_option(sources, option.name);
  });
}

bool changes_nothing(const OptionSources& sources, const OptionValue& given) {
  const std::string& value = given.value();
  if (given.name == "event-log-handler") return value == "null";
  if (given.name == "logs-specs") return value == "default";
  if (given.name == "signals-to-handle") {
    return std::ranges::all_of(split(value, ','), [](std::string_view name) {
      return std::ranges::find(passed_signals, trim(name)) != passed_signals.end();
    });
  }
  if (given.name != "log-line-prefix-template") return false;
  // torchrun writes the prefix only before lines that --tee copies.
  const auto tee = find_option(sources, "tee");
  const auto copied = tee ? parse_local_streams(tee->value()) : LocalStreams();
  return copied && !copied->any();
}

Result<> read_torchrun_command(const OptionSources& sources, const Environment& environment,
                               RunConfig& config) {
  TRY(add_python(sources, environment, config.command));
  const LocalStreams redirected = TRY(read_files(sources, "redirects", config));
  const LocalStreams copied = TRY(read_files(sources, "tee", config));
  config.redirected = hidden_streams(redirected, copied);
  const StreamChoice& of_all = config.redirected.all;
  if (of_all.output && of_all.error && config.redirected.of_ranks.empty()) config.quiet = true;
  return read_local_ranks(sources, config);
}

}  // namespace dt
