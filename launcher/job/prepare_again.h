#pragma once

#include "base/clock.h"
#include "base/crypto.h"
#include "base/environment.h"
#include "base/io/log.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/task_output.h"
#include "launcher/environment/job_facts.h"
#include "launcher/job/gathering.h"
#include "launcher/job/generations/restart_policy.h"
#include "launcher/job/start/reach.h"
#include "launcher/job/sync/code_sync.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"
#include "launcher/report/job_record.h"
#include "launcher/report/outcome.h"
#include "rendezvous/store/server.h"

#include <functional>
#include <vector>

namespace dt {

/// All that a generation of a job is made of. The first members are the same for all generations.
struct JobGeneration {
  Token token;
  Environment forwarded;
  ResourceNeed need = ResourceNeed::nothing;  ///< nothing: no task is bound
  ProbedHosts probed;

  Plan plan;
  Bindings bindings;
  Reach reach;
  JobFacts facts;
  Time start_deadline;  ///< when the last task must have started
  HostHistory history = {};
  std::vector<HostTree> trees = {};  ///< of --sync, by agent; empty: none
};

/// The parts of a launcher that a restart needs.
struct RestartParts {
  GatheringParts gathering;
  RendezvousServer& rendezvous;
  TaskOutput& output;
  JobRecord& record;
  /// Finds how the hosts of a plan reach each other and the rendezvous, as find_reach() does.
  std::function<Result<Reach>(const Plan&, const std::vector<Prepared>&,
                              const AgentGroup::Awaited&)>
      find_reach;
  std::function<double()> random;  ///< returns a number of 0 to 1
  CodeSync* code = nullptr;        ///< null: no files are sent
};

/// Removes the spares whose agents are lost or cannot start tasks from the plan, the answers and
/// the agents, with a warning for each. Returns their hosts.
std::vector<Host> drop_failed_spares(AgentGroup& agents, Log& log, Plan& plan,
                                     std::vector<Prepared>& prepared);

/// Prepares the next generation after the restart's delay. `failed` is the outcome of the last one:
/// its tasks have ended, and the rendezvous forgets its members. Spares take the places of lost
/// hosts. Where there is none, lost hosts are tried again for --start-timeout.
///
/// Fails with Errc::interrupted after a signal that means stop, and with Errc::timeout at
/// `time_limit`, that of the job. Other failures say why the tasks cannot start again.
Result<> prepare_again(const RestartParts& parts, JobGeneration& generation,
                       const WorldRestart& restart, const Outcome& failed, Time time_limit);

}  // namespace dt
