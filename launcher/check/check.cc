#include "launcher/check/check.h"

#include "base/io/log.h"
#include "launcher/check/check_report.h"
#include "launcher/check/check_runner.h"
#include "launcher/config/allocation/allocation.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/runtime.h"
#include "launcher/console/status_line.h"
#include "launcher/job/own_names.h"
#include "launcher/job/start/prepare.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/process/exit_status.h"
#include "launcher/report/outcome.h"
#include "launcher/slurm/dialed_by_srun.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace dt {

namespace {

constexpr int status_of_failure = 1;
constexpr int status_of_wrong_input = 2;
/// How long agents may take to exit.
constexpr Duration collect_patience = seconds(2);
/// The width for a terminal of unknown width, and the largest that is easy to read.
constexpr size_t columns_usual = 80;
constexpr size_t columns_min = 40;

std::string path_of(const Environment& environment) {
  const auto path = environment.find("PATH");
  return path == environment.end() ? "/usr/bin:/bin" : path->second;
}

size_t columns_of_stdout() {
  winsize size = {};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : columns_usual;
}

/// Returns the words of the command, behind the first, that are files here.
std::vector<std::string> files_of(const std::vector<std::string>& command,
                                  const std::string& folder) {
  constexpr size_t files_max = 16;
  std::vector<std::string> files;
  for (size_t i = 1; i < command.size() && files.size() < files_max; ++i) {
    std::error_code failed;
    const bool is_file =
        std::filesystem::is_regular_file(std::filesystem::path(folder) / command[i], failed);
    if (is_file) files.push_back(command[i]);
  }
  return files;
}

CheckRunner::Terms terms_of(const RunConfig& config, const CheckOptions& options,
                            const Environment& environment) {
  return {.step_max = config.start_timeout,
          .path = path_of(environment),
          .cwd = folder_of_tasks(config),
          .forwarded = forwarded_environment(environment, {}),
          .command = options.command.empty() ? "" : options.command.front(),
          .files = files_of(options.command, folder_of_tasks(config)),
          .imports = options.imports,
          .networks = config.networks,
          .port_range = config.port_range,
          .heartbeat = config.heartbeat,
          .dead_after = config.dead_after,
          .local_dead_after = config.local_dead_after};
}

Result<CheckReport> run_check(const RunConfig& config, const CheckOptions& options,
                              const Environment& environment, Runtime& runtime) {
  const auto began_at = WallClock::now();
  const Time began = Clock::now();
  const ResolvedHosts resolved = TRY(resolve_hosts(config, own_names(config)));
  const std::vector<Host>& hosts = resolved.hosts;
  for (const std::string& warning : resolved.warnings)
    runtime.log().warn("{}", warning);
  StatusLine status(runtime.loop(), {runtime.out(), runtime.err()},
                    wants_status_line(runtime.err(), config.quiet, environment));
  auto dialed = dialed_by_srun(config, environment, runtime.log());
  AgentGroup agents(runtime.loop(),
                    {.heartbeat = config.heartbeat,
                     .dead_after = config.dead_after,
                     .local_dead_after = config.local_dead_after,
                     .ssh = config.ssh,
                     .dialed = std::move(dialed),
                     .log = &runtime.log(),
                     .on_connected = [&status](size_t now, size_t all) { status.hosts(now, all); },
                     .names_missing = config.hosts_are_pods});
  TRY(agents.connect(hosts));
  CheckRunner runner(runtime, agents, hosts, terms_of(config, options, environment));
  TRY(runner.await_hellos());
  status.end();
  for (const std::string& line : runner.shared())
    runtime.log().warn("{}", line);
  TRY(runner.diagnose());
  TRY(runner.probe());
  TRY(runner.measure());
  TRY(agents.wait_for_exit({.deadline = Clock::now() + collect_patience,
                            .interrupted = [&runtime] { return runtime.interrupted() != 0; }}));
  CheckReport report = runner.report();
  report.began_at = began_at;
  report.took = Clock::now() - began;
  return report;
}

TableStyle style_of(const RunConfig& config, const Runtime& runtime, size_t hosts) {
  return {.columns = std::clamp(columns_of_stdout(), columns_min, columns_usual),
          .colored = runtime.colored_out(),
          .brief = hosts > measured_hosts_max && !config.verbose};
}

int report_failure(const Error& error, Runtime& runtime) {
  if (error.code == Errc::interrupted) {
    const Outcome outcome = interrupted_outcome(runtime.interrupted());
    runtime.log().error("{}", outcome.reason);
    return outcome.exit_status;
  }
  runtime.log().error("{}", error.message);
  return error.code == Errc::input ? status_of_wrong_input : status_of_failure;
}

}  // namespace

int check(const RunConfig& config, const CheckOptions& options, const Environment& environment) {
  const auto runtime =
      Runtime::open({.verbose = config.verbose, .color = config.color}, environment);
  if (!runtime) {
    Log(Log::Level::normal, write_to_stderr).error("{}", runtime.error().message);
    return status_of_failure;
  }
  for (const std::string& warning : config.warnings)
    (*runtime)->log().warn("{}", warning);
  if (!config.allocation.empty())
    (*runtime)->log().print("{}", allocation_line(config.allocation, config.hosts));
  const auto report = run_check(config, options, environment, **runtime);
  int status = 0;
  if (!report) {
    status = report_failure(report.error(), **runtime);
  } else {
    const TableStyle style = style_of(config, **runtime, report->hosts.size());
    (*runtime)->out().write(
        options.json ? check_document(*report).text(2) + "\n" : check_text(*report, style), {});
    status = report->grade() == Grade::failure ? status_of_failure : 0;
  }
  (*runtime)->drain(Time::max());
  return status;
}

}  // namespace dt
