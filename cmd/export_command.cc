#include "cmd/export_command.h"

#include "base/environment.h"
#include "base/format.h"
#include "base/text.h"
#include "cmd/job_command.h"
#include "cmd/run_arguments.h"
#include "launcher/config/files/config_show.h"
#include "launcher/export/compose.h"
#include "launcher/export/slurm_script.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/sync/source/git_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace dt {
namespace {

using Target = ExportWords::Target;

constexpr std::array<std::pair<const char*, Target>, 2> targets = {
    {{"compose", Target::compose}, {"slurm", Target::slurm}}};

Result<Target> target_named(const std::string& word) {
  for (const auto& [name, target] : targets)
    if (word == name) return target;
  const std::vector<std::string> names = export_targets();
  const std::optional<std::string> guess = nearest(word, names);
  return fail(Errc::input, format("export: \"{}\" is not one of its targets; {}", printable(word),
                                  guess ? format("did you mean dtrain export {}?", *guess)
                                        : format("they are {}", join(names, ", "))));
}

/// Returns the variables that decide options. A scheduler's job around this command has other hosts
/// than the file.
std::vector<std::string> deciding_variables(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  std::ranges::copy_if(environment, std::back_inserter(kept), [](const std::string& setting) {
    return setting.starts_with("DTRAIN_OPT_") || setting.starts_with("HOME=") ||
           setting.starts_with("XDG_CONFIG_HOME=");
  });
  return kept;
}

/// Returns the tree that --sync would copy. No file is read.
Result<std::optional<ExportedCode>> find_code(const RunConfig& config, const std::string& folder) {
  if (!config.sync || config.sync->repository) return std::nullopt;
  namespace fs = std::filesystem;
  std::error_code fault;
  const std::string named = fs::canonical(fs::path(folder) / config.sync->from, fault).string();
  if (fault) {
    return fail(Errc::input, format("--sync-from {}: {}", shell_quote(printable(config.sync->from)),
                                    fault.message()));
  }
  ExportedCode code = {.root = find_git_root(named).value_or(named), .start = {}};
  const std::string here = fs::canonical(folder, fault).string();
  if (!fault && here.starts_with(code.root + "/")) code.start = here.substr(code.root.size() + 1);
  return code;
}

/// Plans the job on the user's hosts. None where only the hosts themselves know their slots.
Result<std::optional<Plan>> find_plan(const RunConfig& config) {
  if (config.external_cluster || !config.host_source.program.empty()) return std::nullopt;
  ResolvedHosts resolved = TRY(resolve_hosts(config, {}));
  return std::move(resolved.plan);
}

}  // namespace

std::vector<std::string> export_targets() {
  std::vector<std::string> names;
  for (const auto& [name, target] : targets)
    names.emplace_back(name);
  return names;
}

Result<ExportWords> read_export_words(std::span<const std::string> words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") return ExportWords{};
  constexpr std::array<OwnOption, 2> own = {OwnOption{"-o", "FILE"}, OwnOption{"--pieces", "FILE"}};
  const Target target = TRY(target_named(words.front()));
  FileWords read = TRY(read_file_words(words.subspan(1), {.command = "export", .own_options = own},
                                       "export " + words.front()));
  if (read.help) return ExportWords{};
  ExportWords all = {.target = target,
                     .job = {.action = JobWords::Action::run,
                             .file = std::move(read.file),
                             .flags = std::move(read.flags),
                             .command = std::move(read.command)}};
  for (auto& [option, value] : read.own_values)
    (option == "-o" ? all.output : all.job.pieces) = std::move(value);
  return all;
}

Result<ExportJob> export_job(const ExportWords& words, const std::vector<std::string>& environment,
                             const FileNoticeSink& notice) {
  const std::string folder = current_folder(parse_environment(environment));
  RunRequest request = TRY(job_request(words.job, deciding_variables(environment)));
  const OptionSources sources =
      TRY(load_sources(request.flags, request.environment, {}, request.job));
  ExportJob job = {.options = decided_options(sources, false),
                   .command = request.command,
                   .folder = folder,
                   .source = words.job.file,
                   .output = words.output};
  // The file may name the scheduler that will have the hosts.
  request.flags.values["allocation"] = {"none"};
  request.notice = notice;
  job.config = TRY(load_run_config(std::move(request)));
  job.plan = TRY(find_plan(job.config));
  job.code = TRY(find_code(job.config, job.folder));
  return job;
}

Result<Exported> export_text(const ExportWords& words, const ExportJob& job) {
  return words.target == ExportWords::Target::slurm ? slurm_script(job) : compose_file(job);
}

}  // namespace dt
