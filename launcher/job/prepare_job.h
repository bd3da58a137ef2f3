#pragma once

#include "base/result.h"
#include "launcher/console/task_output.h"
#include "launcher/job/job_context.h"
#include "launcher/job/plan_job.h"
#include "launcher/job/prepare_again.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/report/outcome.h"
#include "rendezvous/store/server.h"

#include <memory>
#include <optional>

namespace dt {

/// All that the launch of a job's first generation needs.
struct PreparedJob {
  std::optional<Outcome> failure;  ///< set: an agent cannot start its tasks, and the rest is empty
  JobGeneration generation = {};
  std::unique_ptr<TaskOutput> output = {};
  std::optional<HeldPort> held_port = {};  ///< keeps the port from other jobs of this machine
  std::unique_ptr<RendezvousServer> rendezvous = {};
};

/// Has the agents prepare, finds how hosts reach each other, and opens the rendezvous.
Result<PreparedJob> prepare_job(JobContext& context, PlannedJob planned);

}  // namespace dt
