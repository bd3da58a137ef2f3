#include "cmd/export_command.h"

#include "base/crypto.h"
#include "base/environment.h"
#include "base/format.h"
#include "base/text.h"
#include "cmd/job_command.h"
#include "cmd/run_arguments.h"
#include "launcher/config/files/config_show.h"
#include "launcher/export/compose.h"
#include "launcher/export/export_code.h"
#include "launcher/export/kubernetes/code_map.h"
#include "launcher/export/kubernetes/kubernetes_manifest.h"
#include "launcher/export/kubernetes/node_shape.h"
#include "launcher/export/slurm_script.h"
#include "launcher/plan/resolve_hosts.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace dt {
namespace {

using Target = ExportWords::Target;

constexpr std::array<std::pair<const char*, Target>, 3> targets = {
    {{"compose", Target::compose}, {"slurm", Target::slurm}, {"kubernetes", Target::kubernetes}}};

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

/// Plans the job on the user's hosts. None where only the hosts themselves know their slots. Pods
/// without hosts need no plan.
Result<std::optional<Plan>> find_plan(const RunConfig& config, Target target) {
  if (config.external_cluster || !config.host_source.program.empty()) return std::nullopt;
  if (target == Target::kubernetes && config.hosts.empty()) return std::nullopt;
  ResolvedHosts resolved = TRY(resolve_hosts(config, {}));
  return std::move(resolved.plan);
}

/// True for options that decide the job in pods; the manifest has nodes of its own.
bool counts_in_pods(const Option& option) {
  return !is_node_option(option.name);
}

/// Returns the request for the job of a file, or of the options alone.
Result<RunRequest> export_request(const ExportWords& words, std::vector<std::string> environment) {
  const JobWords& job = words.job;
  if (job.file.empty()) {
    return RunRequest{
        .flags = job.flags, .command = job.command, .environment = std::move(environment)};
  }
  auto request = job_request(job, std::move(environment));
  const bool may_be_command =
      words.target == Target::kubernetes && job.command.empty() && !job.file.ends_with(".toml");
  if (request || !may_be_command) return request;
  return fail(request.error().code,
              format("{}; if {} is the command of the job, write it behind --: dtrain export "
                     "kubernetes OPTIONS -- {}",
                     request.error().message, shell_quote(printable(job.file)),
                     shell_quote(printable(job.file))));
}

constexpr std::array<std::string_view, 2> kubernetes_flags = {"--with-secret", "--without-dtrain"};
constexpr std::array<OwnOption, 7> kubernetes_options = {OwnOption{"-o", "FILE"},
                                                         OwnOption{"--pieces", "FILE"},
                                                         OwnOption{"--kind", "KIND"},
                                                         OwnOption{"--queue", "NAME"},
                                                         OwnOption{"--runtime", "NAME"},
                                                         OwnOption{"--secret", "NAME"},
                                                         OwnOption{"--claim", "NAME:TARGET"}};

Result<> read_own_value(const std::string& option, const std::string& value, ExportWords& all) {
  if (option == "--kind") {
    all.kubernetes.kind = TRY(parse_kubernetes_kind(value));
    return {};
  }
  if (option == "--claim") return add_claim(all.kubernetes.claims, value);
  std::string& place = option == "-o"          ? all.output
                       : option == "--pieces"  ? all.job.pieces
                       : option == "--queue"   ? all.kubernetes.queue
                       : option == "--runtime" ? all.kubernetes.runtime
                                               : all.kubernetes.secret;
  place = value;
  return {};
}

/// Reads the options of the dialect. Fails without --kind.
Result<> read_kubernetes_own(const FileWords& read, ExportWords& all) {
  for (const auto& [option, value] : read.own_values)
    TRY(read_own_value(option, value, all));
  const auto is_kind = [](const auto& own) { return own.first == "--kind"; };
  if (std::ranges::none_of(read.own_values, is_kind)) {
    return fail(Errc::input, format("export kubernetes: which kind? write: --kind {}",
                                    join(kubernetes_kinds(), "|")));
  }
  all.kubernetes.with_secret = std::ranges::count(read.own, "--with-secret") > 0;
  all.kubernetes.without_dtrain = std::ranges::count(read.own, "--without-dtrain") > 0;
  if (!all.kubernetes.with_secret || !all.output.empty()) return {};
  return fail(
      Errc::input,
      "--with-secret: the terminal would show the token; write the text to a file: -o FILE");
}

/// Reads words with a file, or a whole job without one.
Result<FileWords> read_kubernetes_words(std::span<const std::string> words) {
  const Dialect dialect = {
      .command = "export", .own_flags = kubernetes_flags, .own_options = kubernetes_options};
  RunArguments before = TRY(read_run_arguments(words, dialect));
  if (before.prints != nullptr) return FileWords{.help = true};
  if (!before.literal) {
    if (!before.command.empty()) return read_file_words(words, dialect, "export kubernetes");
    return fail(Errc::input,
                "export kubernetes: which job? write: dtrain export kubernetes FILE, "
                "or options of run, and the command behind --");
  }
  return FileWords{.flags = std::move(before.flags),
                   .command = std::move(before.command),
                   .own = std::move(before.own),
                   .own_values = std::move(before.own_values)};
}

/// Reads the words of `dtrain export kubernetes`.
Result<ExportWords> kubernetes_export(std::span<const std::string> words) {
  FileWords read = TRY(read_kubernetes_words(words));
  if (read.help) return ExportWords{};
  ExportWords all = {.target = Target::kubernetes, .job = {.action = JobWords::Action::run}};
  TRY(read_kubernetes_own(read, all));
  all.job.file = std::move(read.file);
  all.job.flags = std::move(read.flags);
  all.job.command = std::move(read.command);
  return all;
}

/// Decides the configuration of a job in pods: without options of nodes, which are the manifest's.
/// Nodes without a number of processes have one each, as torchrun has it.
Result<RunConfig> config_in_pods(RunRequest request, const std::vector<DecidedOption>& options) {
  constexpr std::array<std::string_view, 7> counts = {
      "np", "ppn", "nproc-per-node", "role", "hosts", "hostfile", "host-discovery-script"};
  const auto is_given = [&options](std::string_view name) {
    return std::ranges::any_of(
        options, [name](const DecidedOption& one) { return one.option->name == name; });
  };
  request.takes = counts_in_pods;
  if (is_given("nnodes") && std::ranges::none_of(counts, is_given))
    request.defaults["nproc-per-node"] = {"1"};
  return load_run_config(std::move(request));
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
  if (target == Target::kubernetes) return kubernetes_export(words.subspan(1));
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
  const Environment variables = parse_environment(environment);
  const std::string folder = current_folder(variables);
  RunRequest request = TRY(export_request(words, deciding_variables(environment)));
  const OptionSources sources =
      TRY(load_sources(request.flags, request.environment, {}, request.job));
  ExportJob job = {.options = decided_options(sources, false),
                   .command = request.command,
                   .folder = folder,
                   .source = words.job.file,
                   .output = words.output};
  request.notice = notice;
  // The file may name the scheduler that will have the hosts.
  request.flags.values["allocation"] = {"none"};
  const bool in_pods = words.target == Target::kubernetes;
  job.config = TRY(in_pods ? config_in_pods(std::move(request), job.options)
                           : load_run_config(std::move(request)));
  job.plan = TRY(find_plan(job.config, words.target));
  job.code = TRY(find_code(job.config, job.folder));
  if (job.code && in_pods)
    TRY(read_code(*job.config.sync, {.folder = folder, .environment = variables}, code_bytes_max,
                  job));
  return job;
}

Result<Exported> export_text(const ExportWords& words, const ExportJob& job) {
  if (words.target == Target::slurm) return slurm_script(job);
  if (words.target == Target::compose) return compose_file(job);
  std::string token;
  if (words.kubernetes.with_secret) {
    const Token fresh = TRY(Token::random());
    token = fresh.text();
  }
  return kubernetes_manifest(job, words.kubernetes, token);
}

}  // namespace dt
