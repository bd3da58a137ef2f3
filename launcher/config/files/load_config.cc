#include "launcher/config/files/load_config.h"

#include "base/environment.h"
#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "choices/algorithm_text.h"
#include "launcher/config/files/found_destinations.h"
#include "launcher/config/files/found_file.h"
#include "launcher/config/files/horovod_yaml.h"
#include "launcher/config/files/stray_variables.h"
#include "launcher/config/files/toml_text.h"
#include "launcher/config/files/torchrun_variables.h"
#include "launcher/config/option_value.h"
#include "launcher/config/options.h"
#include "launcher/config/trust.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace dt {
namespace {

/// The last value of an option that names a file, with its origin.
struct NamedFile {
  std::string path;
  std::string origin;
};

std::optional<NamedFile> named_config_file(const OptionSource& flags,
                                           const OptionSource& variables) {
  for (const OptionSource* source : {&flags, &variables}) {
    const auto found = source->values.find("config-file");
    if (found == source->values.end() || found->second.empty()) continue;
    const auto origin = source->origins.find("config-file");
    return NamedFile{found->second.back(),
                     origin == source->origins.end() ? "--config-file" : origin->second};
  }
  return std::nullopt;
}

/// dtrain reads this file although the user did not name it: another user may have put it there.
constexpr const char* found_file = "dtrain.toml";

std::vector<std::string> default_config_files(const Environment& environment) {
  std::vector<std::string> paths = {found_file};
  if (auto path = user_config_file(environment, "config.toml")) paths.push_back(*std::move(path));
  return paths;
}

Result<OptionSource> read_named(const NamedFile& file) {
  const Result<std::string> text = read_text_file(file.path, config_bytes_max);
  if (text && is_yaml(*text, file.path)) {
    return fail(Errc::input, format("{}: {}", file.origin, yaml_error(*text, file.path)));
  }
  if (text) return read_toml_options(*text, file.path);
  return fail(Errc::input, format("{}: cannot read \"{}\": {}", file.origin, printable(file.path),
                                  text.error().message));
}

/// Returns the path for messages: "./dtrain.toml".
std::string shown_path(const std::string& path) {
  return path == found_file ? format("./{}", path) : printable(path);
}

/// The options of the files that were found, and messages about the files that are left out.
struct FoundOptions {
  OptionSources sources;
  std::vector<std::string> warnings;
  std::vector<std::string> details;  ///< for --verbose
};

void leave_out(const std::string& path, const FoundFile& file, FoundOptions& found) {
  if (file.state == FoundFile::State::distrusted) {
    found.warnings.push_back(format("{} is left out: {}; --config-file {} takes it",
                                    shown_path(path), file.why, shell_quote(printable(path))));
  } else if (file.state == FoundFile::State::unreadable) {
    found.details.push_back(
        format("{} counts as absent, since it cannot be read: {}", shown_path(path), file.why));
  }
}

Result<FoundOptions> read_existing(const std::vector<std::string>& paths) {
  FoundOptions found;
  for (const std::string& path : paths) {
    const Result<FoundFile> file = read_found_file(path, config_bytes_max);
    if (!file) {
      return fail(Errc::input,
                  format("cannot read \"{}\": {}", printable(path), file.error().message));
    }
    leave_out(path, *file, found);
    if (file->state != FoundFile::State::read) continue;
    OptionSource options = TRY(read_toml_options(file->text, path));
    options.found = path == found_file;
    TRY(check_found_options(options));
    found.sources.push_back(std::move(options));
  }
  return found;
}

bool is_verbose(const OptionSources& sources) {
  const auto given = find_option(sources, "verbose");
  return given && given->flag().value_or(false);
}

void report_left_out(const FoundOptions& found, const OptionSources& sources,
                     const FileNoticeSink& notice) {
  if (!notice) return;
  for (const std::string& warning : found.warnings)
    notice({.text = warning, .is_warning = true});
  if (!is_verbose(sources)) return;
  for (const std::string& detail : found.details)
    notice({.text = detail});
}

void report_destinations(const std::vector<DecidedOption>& decided, const FileNoticeSink& notice) {
  if (decided.empty() || !notice) return;
  constexpr size_t value_bytes_max = 100;
  std::vector<std::string> settings;
  for (const DecidedOption& one : decided) {
    const std::string value = toml_value(*one.option, one.values);
    settings.push_back(format("{} = {}", one.option->name, printable(value, value_bytes_max)));
  }
  notice({.text = format("{} sets {}", shown_path(found_file), join(settings, ", "))});
}

void report_stray_variables(const Environment& environment, const OptionSources& sources,
                            const FileNoticeSink& notice) {
  const auto quiet = find_option(sources, "quiet");
  if (!notice || (quiet && quiet->flag().value_or(false))) return;
  for (const std::string& warning : stray_variable_warnings(environment, sources))
    notice({.text = warning, .is_warning = true});
}

/// Variables and files are made for `dtrain run`; other commands take a part of its options.
void keep_taken(bool (*takes)(const Option& option), OptionSources& sources) {
  for (OptionSource& source : sources) {
    std::erase_if(source.values, [takes](const auto& named) {
      const Option* option = find_option(named.first);
      return option != nullptr && !takes(*option);
    });
  }
}

Result<> check_algorithms(const OptionSources& sources) {
  const auto given = find_option(sources, "algorithms");
  if (!given) return {};
  if (const auto checked = parse_algorithms(given->value()); !checked)
    return given->refuse(checked.error().message);
  const auto deterministic = find_option(sources, "deterministic");
  if (!deterministic) return {};
  const bool reductions_are_chosen = TRY(deterministic->flag());
  if (!reductions_are_chosen) return {};
  if (parse_algorithms(deterministic_algorithms(given->value()))) return {};
  return given->refuse(
      "--deterministic chooses the algorithms of all_reduce, reduce and reduce_scatter; "
      "leave them out");
}

Result<std::string> read_hostfile_text(const std::string& path) {
  return read_text_file(path, hostfile_bytes_max);
}

}  // namespace

Result<OptionSources> load_sources(OptionSource flags, const std::vector<std::string>& environment,
                                   const FileNoticeSink& notice, OptionSource job) {
  OptionSource variables = TRY(read_environment_options(environment));
  const auto named = named_config_file(flags, variables);
  FoundOptions found;
  if (named) {
    OptionSource options = TRY(read_named(*named));
    found.sources.push_back(std::move(options));
  } else {
    found = TRY(read_existing(default_config_files(parse_environment(environment))));
  }
  OptionSources sources = {std::move(flags), std::move(variables)};
  if (!job.values.empty()) sources.push_back(std::move(job));
  std::ranges::move(found.sources, std::back_inserter(sources));
  report_left_out(found, sources, notice);
  OptionSource of_torchrun = torchrun_variables(sources, parse_environment(environment));
  if (!of_torchrun.values.empty()) sources.push_back(std::move(of_torchrun));
  return sources;
}

Result<RunConfig> load_run_config(RunRequest request) {
  auto sources = TRY(load_sources(std::move(request.flags), request.environment, request.notice,
                                  std::move(request.job)));
  if (request.on_read) request.on_read(sources);
  if (request.takes != nullptr) keep_taken(request.takes, sources);
  sources.push_back({.values = std::move(request.defaults), .origins = {}});
  const Environment environment = parse_environment(request.environment);
  report_stray_variables(environment, sources, request.notice);
  report_destinations(found_destinations(sources), request.notice);
  TRY(check_algorithms(sources));
  return make_run_config(sources, std::move(request.command), read_hostfile_text, environment,
                         ::isatty(STDIN_FILENO) != 0);
}

Result<RunConfig> load_check_config(OptionSource flags, const std::vector<std::string>& environment,
                                    const FileNoticeSink& notice) {
  const auto sources = TRY(load_sources(std::move(flags), environment, notice));
  std::vector<DecidedOption> found = found_destinations(sources);
  std::erase_if(found, [](const DecidedOption& one) { return !is_check_option(*one.option); });
  report_destinations(found, notice);
  return make_check_config(sources, read_hostfile_text, parse_environment(environment));
}

}  // namespace dt
