#pragma once

#include "base/clock.h"
#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/runtime.h"
#include "launcher/console/status_line.h"
#include "launcher/discovery/host_discovery.h"
#include "launcher/job/gathering.h"
#include "launcher/job/sync/code_sync.h"
#include "launcher/report/job_record.h"
#include "launcher/sync/store/checkout_folder.h"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

struct SyncSource;

/// Lives from before the first connection until the end of the job.
struct JobContext {
  /// `dialed`: how agents are started instead of by SSH.
  JobContext(const RunConfig& run_config, const Environment& environment, Runtime& its_runtime,
             JobRecord& its_record, std::optional<DialedHosts::Options> dialed = {});
  JobContext(const JobContext&) = delete;
  JobContext& operator=(const JobContext&) = delete;

  /// True when the nodes do not make one job, which then cannot start.
  bool nodes_disagree() const;
  void warn(const std::vector<std::string>& warnings);
  /// Starts the sync process, if files are sent. It finds and hashes them while agents connect.
  Result<> start_sync(const Environment& environment);
  /// The job cannot start: hosts close the trees that they have got.
  void close_trees();
  /// Makes the folder for the files of a URL, which ends with the job.
  Result<> prepare_checkout(SyncSource& source);
  /// When --timeout ends the job; Time::max() without one.
  Time time_limit() const;
  /// The start begins now: its deadline follows.
  void begin_start();
  GatheringParts gathering_parts(ResourceNeed need);
  /// Reads the hosts anew from their source; empty where they do not change.
  ReadHosts host_reader();

  const RunConfig& config;
  Runtime& runtime;
  JobRecord& record;
  Time start_deadline;
  Time limit_since = Clock::now();  ///< the begin of --timeout, later by each pause
  AgentGroup::Awaited awaited;      ///< the time limit of all answers by agents before the launch
  std::vector<pid_t> own_children;  ///< that this process had before it started any agent
  std::vector<std::string> own_names;  ///< of this machine
  std::optional<HostDiscovery> discovery;
  StatusLine status;
  AgentGroup agents;
  std::optional<CheckoutFolder> checkout;  ///< of --sync-from with a URL; ends after `code`
  std::unique_ptr<CodeSync> code;          ///< null: no files are sent
};

}  // namespace dt
