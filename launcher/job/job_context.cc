#include "launcher/job/job_context.h"

#include "launcher/environment/environment.h"
#include "launcher/job/own_names.h"
#include "launcher/job/start/prepare.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/process/sweep.h"
#include "launcher/sync/server/sync_process.h"
#include "launcher/sync/store/store_folder.h"

#include <algorithm>
#include <filesystem>
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
              .interrupted = [this] { return runtime.interrupted() != 0 || nodes_disagree(); }},
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
                              .names_missing = config.hosts_are_pods || config.nodes}) {
}

bool JobContext::nodes_disagree() const {
  return agents.dialed_hosts() != nullptr && agents.dialed_hosts()->refusal();
}

void JobContext::warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    runtime.log().warn("{}", warning);
}

/// The current folder plays no role for git, but the user's path of a token begins there.
Result<> JobContext::prepare_checkout(SyncSource& source) {
  const StoreFolder store = TRY(StoreFolder::find(store_candidates(source.user.environment)));
  CheckoutFolder made = TRY(CheckoutFolder::make(store, record.job));
  checkout.emplace(std::move(made));
  source.checkout = checkout->path();
  std::string& file = source.sync->token.file;
  if (!file.empty()) file = (std::filesystem::path(source.user.folder) / file).native();
  return {};
}

/// A host that writes files may be silent for longer than a lease: its disk may be busy.
constexpr Duration disk_patience = seconds(30);

Result<> JobContext::start_sync(const Environment& environment) {
  if ((!config.sync && !config.setup) || config.dry_run) return {};
  SyncSource source = {.sync = config.sync,
                       .folder = folder_of_tasks(config),
                       .user = {current_folder(environment), environment},
                       .job = record.job,
                       .silence_max = std::max(config.dead_after, disk_patience),
                       .setup = {},
                       .fetch = config.fetch,
                       .chdir = config.chdir};
  if (config.sync && config.sync->repository) TRY(prepare_checkout(source));
  if (config.setup) {
    source.setup = SetUpOrder{.commands = config.setup->commands,
                              .forwarded = forwarded_environment(environment, config.environment,
                                                                 config.environment_excluded),
                              .excluded = config.environment_excluded,
                              .below = {},
                              .source = {},
                              .timeout = config.setup->timeout,
                              .once = config.setup->once};
  }
  const auto serve = [&source](Fd orders, Fd events) {
    run_sync_process(source, std::move(orders), std::move(events));
  };
  code = TRY(CodeSync::start(
      {runtime.loop(), runtime.log(), agents, runtime.err()}, serve,
      {.copies = config.sync.has_value(),
       .copies_here = config.sync &&
                      (config.sync->target || config.sync->local_copy || config.sync->repository),
       .sets_up = config.setup.has_value(),
       .quiet = config.quiet}));
  own_children.push_back(code->pid());
  return {};
}

void JobContext::close_trees() {
  constexpr Duration patience = seconds(5);
  if (!code) return;
  if (code->facts() && config.sync) record.sync = code->record();
  // A later job removes the rest.
  static_cast<void>(code->finish(
      nullptr, {.deadline = Clock::now() + patience, .interrupted = [] { return false; }}));
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
