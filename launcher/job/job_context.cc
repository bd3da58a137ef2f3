#include "launcher/job/job_context.h"

#include "launcher/job/own_names.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/process/sweep.h"

#include <utility>

namespace dt {

JobContext::JobContext(const RunConfig& run_config, const Environment& environment,
                       Runtime& its_runtime, JobRecord& its_record,
                       std::optional<DialedHosts::Options> dialed)
    : config(run_config),
      runtime(its_runtime),
      record(its_record),
      start_deadline(Clock::now() + config.start_timeout),
      awaited{.deadline = start_deadline,
              .interrupted = [this] { return runtime.interrupted() != 0; }},
      own_children(existing_children()),
      own_names(dt::own_names(run_config)),
      status(runtime.loop(), {runtime.out(), runtime.err()},
             wants_status_line(runtime.err(), config.quiet, environment)),
      agents(runtime.loop(), {.heartbeat = config.heartbeat,
                              .dead_after = config.dead_after,
                              .local_dead_after = config.local_dead_after,
                              .ssh = config.ssh,
                              .dialed = std::move(dialed),
                              .scheduled = !config.allocation.empty(),
                              .log = &runtime.log(),
                              .on_connected = [this](size_t connected,
                                                     size_t all) { status.hosts(connected, all); },
                              .names_missing = config.hosts_are_pods}) {
}

void JobContext::warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    runtime.log().warn("{}", warning);
}

void JobContext::begin_start() {
  start_deadline = Clock::now() + config.start_timeout;
  awaited.deadline = start_deadline;
}

GatheringParts JobContext::gathering_parts(ResourceNeed need) {
  return {.loop = runtime.loop(),
          .agents = agents,
          .log = runtime.log(),
          .config = config,
          .interrupted = awaited.interrupted,
          .read_hosts = host_reader(),
          .need = need};
}

ReadHosts JobContext::host_reader() {
  if (!config.host_source.changes()) return {};
  return [this](const OnHostsRead& on_read) {
    discovery.emplace(runtime.loop(), config.host_source);
    discovery->read([this, on_read](Result<HostList> list) {
      on_read(list ? found_hosts(config, *list, own_names)
                   : Result<std::vector<Host>>(tl::unexpected(std::move(list).error())));
    });
  };
}

Time JobContext::time_limit() const {
  return config.timeout ? limit_since + *config.timeout : Time::max();
}

}  // namespace dt
