#pragma once

#include "base/crypto.h"
#include "base/result.h"
#include "launcher/console/task_output.h"
#include "launcher/environment/job_facts.h"
#include "launcher/job/generations/restart_policy.h"
#include "launcher/job/job_context.h"
#include "launcher/job/plan_job.h"
#include "launcher/job/start/reach.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/report/outcome.h"
#include "rendezvous/store/server.h"

#include <memory>
#include <optional>

namespace dt {

/// All that the launch of a generation needs beside the plan.
struct PreparedJob {
  std::optional<Outcome> failure;  ///< set: an agent cannot start its tasks, and the rest is empty
  Token token = {};
  std::unique_ptr<TaskOutput> output = {};
  Reach reach = {};
  std::optional<HeldPort> held_port = {};  ///< keeps the port from other jobs of this machine
  std::unique_ptr<RendezvousServer> rendezvous = {};
  JobFacts facts = {};
};

/// Has the agents prepare, finds how hosts reach each other, and opens the rendezvous.
Result<PreparedJob> prepare_job(JobContext& context, const PlannedJob& planned);

/// Prepares the next generation on the agents that have stayed, after the restart's delay. `failed`
/// is the outcome of the last one, whose tasks have ended and whose members the rendezvous forgets.
/// Fails if an agent cannot start its tasks any more.
Result<> prepare_again(JobContext& context, const PlannedJob& planned, PreparedJob& prepared,
                       const WorldRestart& restart, const Outcome& failed);

}  // namespace dt
