#include "launcher/job/last_checkpoints.h"

#include "base/bytes.h"
#include "base/format.h"
#include "rendezvous/cluster/last_checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace dt {

namespace {

constexpr int status_checkpoint_missing = 1;

/// The state of the task's last checkpoint; null when none is missing.
const Bytes* missing_checkpoint(const RendezvousServer& rendezvous, const Task& task) {
  return task.rank < 0 ? rendezvous.find(last_checkpoint_key(task.id)) : nullptr;
}

}  // namespace

bool any_writes_checkpoint(const RendezvousServer& rendezvous, const Plan& plan) {
  return std::ranges::any_of(plan.tasks, [&](const Task& task) {
    const Bytes* const state = missing_checkpoint(rendezvous, task);
    return state != nullptr && as_text(*state) == checkpoint_being_written;
  });
}

void count_missing_checkpoints(const RendezvousServer& rendezvous, JobRecord& record,
                               Outcome& outcome) {
  if (outcome.exit_status != 0) return;
  for (size_t at = 0; at < record.plan.tasks.size(); ++at) {
    const Task& task = record.plan.tasks[at];
    if (missing_checkpoint(rendezvous, task) == nullptr) continue;
    TaskRecord& ended = record.tasks[at];
    ended.completed = false;
    ++outcome.failed_tasks;
    if (!outcome.reason.empty()) outcome.reason += "; ";
    outcome.exit_status = status_checkpoint_missing;
    outcome.reason += format("the last checkpoint of {} (host {}) is missing: {}", task.id.text(),
                             record.plan.hosts[static_cast<size_t>(task.agent)].host.name,
                             ended.exit ? ended.exit->text() : "its host was lost");
  }
}

}  // namespace dt
