#include "launcher/config/load_config.h"

#include "base/environment.h"
#include "base/file.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/config/horovod_yaml.h"
#include "launcher/config/trust.h"

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

/// Found without being named: whoever wrote something into the current folder may have put it
/// there.
constexpr const char* found_file = "dtrain.toml";

std::vector<std::string> default_config_files(const Environment& environment) {
  std::vector<std::string> paths = {found_file};
  const auto folder = environment.find("XDG_CONFIG_HOME");
  const auto home = environment.find("HOME");
  // The XDG specification: relative folders are invalid and to be ignored.
  if (folder != environment.end() && folder->second.starts_with('/')) {
    paths.push_back(folder->second + "/dtrain/config.toml");
  } else if (home != environment.end() && home->second.starts_with('/')) {
    paths.push_back(home->second + "/.config/dtrain/config.toml");
  }
  return paths;
}

Result<OptionSource> read_named(const NamedFile& file) {
  const Result<std::string> text = read_text_file(file.path, config_bytes_max);
  if (text && is_yaml(*text, file.path)) {
    return fail(Errc::input, format("{}: {}", file.origin, yaml_answer(*text, file.path)));
  }
  if (text) return read_toml_options(*text, file.path);
  return fail(Errc::input, format("{}: cannot read \"{}\": {}", file.origin, printable(file.path),
                                  text.error().message));
}

Result<OptionSource> read_first_existing(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const Result<std::string> text = read_text_file(path, config_bytes_max);
    if (text) {
      OptionSource source = TRY(read_toml_options(*text, path));
      source.found = path == found_file;
      TRY(check_found_options(source));
      return source;
    }
    if (text.error().code == Errc::not_found) continue;
    return fail(Errc::input,
                format("cannot read \"{}\": {}", printable(path), text.error().message));
  }
  return OptionSource{};
}

Result<std::string> read_hostfile_text(const std::string& path) {
  return read_text_file(path, hostfile_bytes_max);
}

}  // namespace

Result<OptionSources> load_sources(OptionSource flags,
                                   const std::vector<std::string>& environment) {
  OptionSource variables = TRY(read_environment_options(environment));
  const auto named = named_config_file(flags, variables);
  OptionSource file =
      TRY(named ? read_named(*named)
                : read_first_existing(default_config_files(parse_environment(environment))));
  return std::vector{std::move(flags), std::move(variables), std::move(file)};
}

Result<RunConfig> load_run_config(RunRequest request) {
  const auto sources = TRY(load_sources(std::move(request.flags), request.environment));
  return make_run_config(sources, std::move(request.command), read_hostfile_text,
                         parse_environment(request.environment));
}

Result<RunConfig> load_check_config(OptionSource flags,
                                    const std::vector<std::string>& environment) {
  return make_check_config(TRY(load_sources(std::move(flags), environment)), read_hostfile_text);
}

}  // namespace dt
