#pragma once

#include "base/json.h"
#include "launcher/report/job_record.h"
#include "launcher/report/outcome.h"

#include <string>
#include <vector>

namespace dt {

/// What --report writes at the end of a job, whatever the end was:
///
///   report_version  1; a change that readers could stumble over raises it, new members do not
///   version         of dtrain
///   job             its id, or null when it did not come so far
///   command         the words, as a list
///   start, end      ISO 8601, UTC, by the launcher's clock
///   duration_s      by a clock that nobody sets
///   exit_status     of dtrain run
///   reason          why dtrain itself ended the job or could not start it, or null
///   failure         of the first task that failed, or null:
///                   {role, index, rank, host, pid, cause, error, last_stderr: [line, …]}; error
///                   is {message, frame} of what the task wrote to TORCHELASTIC_ERROR_FILE, or
///                   null: the exception and where it was raised ("train.py:12", or null)
///   failed_tasks    how many
///   world_size      tasks with a rank
///   roles           [{name, tasks, ranked, command}]: what its tasks run, as a list
///   cluster         the one that was given, {role: [address, …]}, of which tasks are those that
///                   this dtrain started; null where there was none
///   hosts           [{name, slots, tasks, contained_by}]; contained_by is what made sure that no
///                   process was left: "cgroup" (the kernel ended all in it) or "sweep" (they
///                   were looked for below the agent); null when the host was lost or the job did
///                   not come so far
///   tasks           [{role, index, rank, local_rank, host, pid, started_at_s, ended_at_s, exit,
///                   resources, completed, output}], in rank order, tasks without rank last
///     rank, local_rank          null without a rank
///     pid, started_at_s         null when it never started; seconds from `start` to when the
///                               launcher knew
///     ended_at_s, exit          null when it was not seen to end; exit is {code, signal, oom}:
///                               code null when a signal ("SIGKILL") ended it, signal null when
///                               not, oom true when the kernel did so for want of memory
///     resources                 null without exit; of the process and of those children of its
///                               that it has waited for: {user_s, system_s, max_rss_bytes (of the
///                               largest one), major_faults, voluntary_switches,
///                               involuntary_switches}
///     completed                 null when it was not seen to end; true when it ended well, or the
///                               job had succeeded by then
///     output                    {stdout_bytes, stderr_bytes, lost_bytes}: what reached the
///                               launcher, and what of it did not reach console and file; null
///                               before the launch
///   counters        {rendezvous: {connections, rejected (proved nothing), refused (a task taken or
///                   unknown), requests, horovod_requests}}; rendezvous is null when it
///                   did not come so far
///
/// Every member is always there. Text that is no UTF-8 has U+FFFD in its place.
Json report_document(const JobRecord& record, const std::vector<std::string>& command,
                     const Outcome& outcome, Time now);

}  // namespace dt
