#pragma once

#include "base/json.h"
#include "launcher/report/job_record.h"
#include "launcher/report/outcome.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the document that --report writes at the end of every job, and that a job file's folder
/// has while it runs: without `outcome`. It has these members.
///
///   `report_version`  1. A change that could break readers raises it; new members do not.
///   `version`         The version of dtrain.
///   `job`             The job's id, or null when the job ended before it had one.
///   `command`         The command, as a list.
///   `start`, `end`    Times by the launcher's clock: ISO 8601, UTC.
///   `duration_s`      Measured by a monotonic clock.
///   `exit_status`     The exit status of dtrain run. These three are null while the job runs.
///   `reason`          Why dtrain itself ended the job or could not start it, or null.
///   `failure`         The first task that failed, or null:
///                     {role, index, rank, host, pid, cause, error, last_stderr: [line, …]}.
///                     `error` is {message, frame} from TORCHELASTIC_ERROR_FILE or the traceback,
///                     or null. `frame` is where it was raised ("train.py:12"), or null.
///   `failed_tasks`    The number of failed tasks.
///   `world_size`      The number of tasks with a rank.
///   `roles`           [{name, tasks, ranked, restarts, command}]. `command` is a list.
///                     `restarts`: the most restarts of each of its tasks.
///   `cluster`         The cluster that the user gave, {role: [address, …]}, or null. `tasks` are
///                     those of its tasks that this dtrain started.
///   `hosts`           [{name, slots, tasks, contained_by}]. `contained_by` is how the agent
///                     ensured that no process was left. "cgroup": the kernel ended all processes
///                     in it. "sweep": the agent ended its descendants. Null: the host was lost, or
///                     the job ended before.
///   `tasks`           [{role, index, rank, local_rank, host, address, gpus, pid, started_at_s,
///                     ended_at_s, exit, resources, completed, output, earlier_attempts}]. In rank
///                     order, tasks without rank last.
///
///   `generations`     [{number, began_at_s, ended_at_s, waited_s, world_size, hosts, failure,
///                     reason}]: the starts of all tasks. `hosts` are names. `waited_s` is the time
///                     from the end of the one before, or null. The members above are about the
///                     last one, except for `output`. Empty when the job ended before the launch.
///   `sync`            {root, commit, dirty, files, bytes, hosts}: the files of --sync, or null.
///                     `hosts` is [{name, folder, files_sent, bytes_sent}]: those with a copy.
///
/// These are the members of a task that may be null.
///
///   `rank`, `local_rank`  Null without a rank.
///   `address`         "host:port" of its held port, as in the ClusterSpec. Null before the launch.
///   `gpus`            The GPUs that are left to it, as in CUDA_VISIBLE_DEVICES. Null when dtrain
///                     deals none.
///   `pid`, `started_at_s`  Null when the task never started. Seconds are from `start` to when the
///                     launcher noticed.
///   `ended_at_s`, `exit`  Null when the launcher did not see the end. `exit` is
///                     {code, signal, oom}. `code` is null when a signal ("SIGKILL") ended the
///                     task. Otherwise `signal` is null. `oom` is true when the kernel killed the
///                     task for lack of memory.
///   `resources`       Null without `exit`. It covers the process and the children that it
///                     has waited for: {user_s, system_s, max_rss_bytes, major_faults,
///                     voluntary_switches, involuntary_switches}. `max_rss_bytes` is that of the
///                     largest process.
///   `completed`       Null when the launcher did not see the end. True when the task ended
///                     well, or after the job had succeeded.
///   `output`          {stdout_bytes, stderr_bytes, lost_bytes, dropped_bytes}. The first two
///                     count bytes that reached the launcher, the third those that did not reach
///                     console and file. The last were dropped from the files by --keep-output.
///                     Null before the end.
///
/// The members of a task are about its last attempt. Only `output` covers all of them.
/// `earlier_attempts` is [{pid, started_at_s, ended_at_s, exit}], the oldest first.
///
/// `stalls` has the first 1000 times in which libdtrain's ranks waited for others for longer than
/// --stall-report. Its members are {operation, group, last_before, began_at_s, ended_at_s, waiting,
/// missing}.
///
///   `group`           0 for all ranks.
///   `last_before`     The collective before it in the group, or null.
///   `ended_at_s`      Null when it lasted until the end of the job.
///   `waiting`         [{rank, waits_for: [rank, …]}]: the ranks that waited in the operation.
///   `missing`         [{rank, host, pid, state, waits_at, answered, waits_in, waits_for}]: the
///                     ranks that kept them waiting. `pid` and `state` ("sleeping", "stopped", …)
///                     are null when the agent did not answer. `waits_at` is a function of the
///                     kernel, or null. `answered`: a call of libdtrain ran in it. `waits_in` is
///                     another operation in which it waited for `waits_for`, or null.
///
/// `counters` is {rendezvous: {connections, rejected, refused, requests, horovod_requests}}.
/// `rejected` connections proved no knowledge of the token. `refused` ones named an unknown task,
/// or one that was already connected. `rendezvous` is null when the job ended before it was opened.
///
/// Every member is always present. Bytes that are not UTF-8 become U+FFFD.
Json report_document(const JobRecord& record, const std::vector<std::string>& command,
                     const std::optional<Outcome>& outcome, Time now);

}  // namespace dt
