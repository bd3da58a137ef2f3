#include "launcher/check/check.h"

#include "base/io/log.h"
#include "launcher/check/check_report.h"
#include "launcher/check/check_runner.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/runtime.h"
#include "launcher/console/status_line.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/exit_status.h"
#include "launcher/report/outcome.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace dt {

namespace {

constexpr int status_of_failure = 1;
constexpr int status_of_wrong_input = 2;
/// How long agents may take to go home.
constexpr Duration collect_patience = seconds(2);
/// Where a terminal tells no width, and the most that is easy to read.
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

Result<CheckReport> look_at_hosts(const RunConfig& config, const Environment& environment,
                                  Runtime& stage) {
  const auto began_at = WallClock::now();
  const Time began = Clock::now();
  const auto [hosts, warnings] = TRY(job_hosts(config));
  for (const std::string& warning : warnings)
    stage.log().warn("{}", warning);
  StatusLine status(stage.loop(), {stage.out(), stage.err()},
                    wants_status_line(stage.err(), config.quiet, environment));
  AgentGroup crew(stage.loop(),
                  {.heartbeat = config.heartbeat,
                   .dead_after = config.dead_after,
                   .ssh = config.ssh,
                   .log = &stage.log(),
                   .on_connected = [&status](size_t now, size_t all) { status.hosts(now, all); }});
  TRY(crew.connect(hosts));
  CheckRunner inquiry(stage, crew, hosts,
                      {.step_max = config.start_timeout,
                       .path = path_of(environment),
                       .networks = config.networks,
                       .port_range = config.port_range,
                       .heartbeat = config.heartbeat,
                       .dead_after = config.dead_after});
  TRY(inquiry.greet());
  status.end();
  for (const std::string& line : inquiry.shared())
    stage.log().warn("{}", line);
  TRY(inquiry.diagnose());
  TRY(inquiry.probe());
  TRY(inquiry.measure());
  TRY(crew.collect({.deadline = Clock::now() + collect_patience,
                    .interrupted = [&stage] { return stage.interrupted() != 0; }}));
  CheckReport report = inquiry.report();
  report.began_at = began_at;
  report.took = Clock::now() - began;
  return report;
}

TableLook look_of(const RunConfig& config, const Runtime& stage, size_t hosts) {
  return {.columns = std::clamp(columns_of_stdout(), columns_min, columns_usual),
          .colored = stage.colored_out(),
          .brief = hosts > measured_hosts_max && !config.verbose};
}

int tell_failure(const Error& error, Runtime& stage) {
  if (error.code == Errc::interrupted) {
    const Outcome outcome = interrupted_outcome(stage.interrupted());
    stage.log().error("{}", outcome.reason);
    return outcome.exit_status;
  }
  stage.log().error("{}", error.message);
  return error.code == Errc::input ? status_of_wrong_input : status_of_failure;
}

}  // namespace

int check(const RunConfig& config, const Environment& environment) {
  const auto stage = Runtime::open({.verbose = config.verbose, .color = config.color}, environment);
  if (!stage) {
    Log(Log::Level::normal, write_to_stderr).error("{}", stage.error().message);
    return status_of_failure;
  }
  for (const std::string& warning : config.warnings)
    (*stage)->log().warn("{}", warning);
  const auto report = look_at_hosts(config, environment, **stage);
  int status = 0;
  if (!report) {
    status = tell_failure(report.error(), **stage);
  } else {
    const TableLook look = look_of(config, **stage, report->hosts.size());
    (*stage)->out().write(
        config.json ? check_document(*report).text(2) + "\n" : check_text(*report, look), {});
    status = report->grade() == Grade::failure ? status_of_failure : 0;
  }
  (*stage)->drain(Time::max());
  return status;
}

}  // namespace dt
