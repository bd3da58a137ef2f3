#include "launcher/kept/job_status.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/console/task_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace dt {
namespace {

using Row = std::vector<std::string>;

/// Returns rows as columns, two blanks between them.
std::string table_text(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t at = 0; at < row.size(); ++at)
      widths[at] = std::max(widths[at], row[at].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t at = 0; at < row.size(); ++at)
      line += format("{:<{}}", row[at], widths[at] + 2);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string or_dash(std::string text) {
  return text.empty() ? "-" : std::move(text);
}

/// Returns "2m3s", "5h10m", "12d": two units at most.
std::string age_text(int64_t age_s) {
  constexpr int64_t minute = 60;
  constexpr int64_t hour = 60 * minute;
  constexpr int64_t day = 24 * hour;
  age_s = std::max<int64_t>(age_s, 0);
  if (age_s < minute) return format("{}s", age_s);
  if (age_s < hour) return format("{}m{}s", age_s / minute, age_s % minute);
  if (age_s < day) return format("{}h{}m", age_s / hour, age_s % hour / minute);
  return format("{}d{}h", age_s / day, age_s % day / hour);
}

template <class T>
T member(const Json& object, std::string_view name, T otherwise = T()) {
  const Json* const found = object.find(name);
  const T* const value = found == nullptr ? nullptr : found->as<T>();
  return value == nullptr ? std::move(otherwise) : *value;
}

bool has_value(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  return found != nullptr && *found != Json();
}

std::string exit_text(const Json& task) {
  const Json* const exit = task.find("exit");
  if (exit == nullptr || *exit == Json()) return "";
  const std::string signal = member<std::string>(*exit, "signal");
  return signal.empty() ? format("{}", member<int64_t>(*exit, "code")) : signal;
}

ReportedTask reported_task(const Json& task) {
  ReportedTask seen = {
      .id = {member<std::string>(task, "role"), static_cast<int>(member<int64_t>(task, "index"))},
      .rank = static_cast<int>(member<int64_t>(task, "rank", -1)),
      .host = member<std::string>(task, "host"),
      .address = member<std::string>(task, "address"),
      .gpus = member<std::string>(task, "gpus"),
      .pid = member<int64_t>(task, "pid"),
      .ended = has_value(task, "ended_at_s"),
      .completed = member<bool>(task, "completed"),
      .exit = exit_text(task)};
  seen.restarts = static_cast<int>(member<Json::Array>(task, "earlier_attempts").size());
  return seen;
}

std::string_view task_state(const KnownJob& job, const ReportedTask& task) {
  if (task.ended) return task.completed ? "done" : "failed";
  if (job.state == JobState::lost) return "lost";
  if (task.pid == 0) return job.state == JobState::ended ? "not started" : "waiting";
  return job.state == JobState::ended ? "unknown" : "running";
}

int64_t lasted_s(const KnownJob& job, int64_t now_s) {
  return job.summary.ended_s.value_or(now_s) - job.summary.began_s;
}

std::string_view plural(int64_t count) {
  return count == 1 ? "" : "s";
}

/// Returns the command on one line, which need not be whole.
std::string shown_command(const std::vector<std::string>& command) {
  std::vector<std::string> words(command.size());
  std::ranges::transform(command, words.begin(), shell_quote);
  return printable(join(words, " "), 60);
}

}  // namespace

Result<std::vector<ReportedTask>> reported_tasks(const Json& report) {
  const Json* const tasks = report.find("tasks");
  const auto* const all = tasks == nullptr ? nullptr : tasks->as<Json::Array>();
  if (all == nullptr) return fail(Errc::input, "the report of the job has no tasks");
  std::vector<ReportedTask> read;
  std::ranges::transform(*all, std::back_inserter(read), reported_task);
  return read;
}

void look_at_outputs(const JobSummary& job, WallClock::time_point now,
                     std::vector<ReportedTask>& tasks) {
  const int64_t now_s =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  for (ReportedTask& task : tasks) {
    for (const std::string_view stream : {"stdout", "stderr"}) {
      const std::string path = format(
          "{}/{}/{}", job.output, task_folder_name(task.id, task.rank, job.rank_digits), stream);
      struct stat about = {};
      if (::stat(path.c_str(), &about) < 0) continue;
      const int64_t age_s = std::max<int64_t>(now_s - about.st_mtim.tv_sec, 0);
      task.silent_s = std::min(task.silent_s.value_or(age_s), age_s);
    }
  }
}

std::string status_text(const KnownJob& job, const std::vector<ReportedTask>& tasks,
                        int64_t now_s) {
  const JobSummary& summary = job.summary;
  std::string text = format("{}: {}, {}{}; {} task{} on {} host{}: {}\n", job.folder.id,
                            state_text(job), job.state == JobState::ended ? "after " : "since ",
                            age_text(lasted_s(job, now_s)), summary.tasks, plural(summary.tasks),
                            summary.hosts, plural(summary.hosts), shown_command(summary.command));
  if (!summary.reason.empty()) text += format("{}\n", printable(summary.reason, 2000));
  if (tasks.empty()) return text;
  std::vector<Row> rows = {
      {"TASK", "RANK", "HOST", "PID", "STATE", "EXIT", "RESTARTS", "OUTPUT", "ADDRESS", "GPUS"}};
  for (const ReportedTask& task : tasks) {
    rows.push_back({task.name(), task.rank < 0 ? "-" : format("{}", task.rank),
                    printable(task.host), task.pid == 0 ? "-" : format("{}", task.pid),
                    std::string(task_state(job, task)), or_dash(task.exit),
                    format("{}", task.restarts),
                    task.silent_s ? age_text(*task.silent_s) + " ago" : "-",
                    or_dash(printable(task.address)), or_dash(printable(task.gpus))});
  }
  return text + table_text(rows);
}

std::string list_text(const std::vector<KnownJob>& jobs, int64_t now_s) {
  std::vector<Row> rows = {
      {"JOB", "STATE", "STATUS", "BEGAN", "LASTED", "TASKS", "HOSTS", "COMMAND"}};
  for (const KnownJob& job : jobs) {
    const JobSummary& summary = job.summary;
    const bool ended = job.state == JobState::ended;
    const bool is_known = summary.began_s > 0;
    const bool lasts = ended || job.state == JobState::running;
    rows.push_back({job.folder.id, ended ? "ended" : state_text(job),
                    ended ? format("{}", *summary.exit_status) : "-",
                    is_known ? age_text(now_s - summary.began_s) + " ago" : "-",
                    is_known && lasts ? age_text(lasted_s(job, now_s)) : "-",
                    format("{}", summary.tasks), format("{}", summary.hosts),
                    or_dash(shown_command(summary.command))});
  }
  return table_text(rows);
}

Result<ClusterSpec> running_cluster(const std::vector<ReportedTask>& tasks) {
  ClusterSpec cluster;
  for (const ReportedTask& task : tasks) {
    const bool runs = task.pid != 0 && !task.ended && !task.address.empty();
    if (runs) cluster.jobs[task.id.role][task.id.index] = task.address;
  }
  if (cluster.jobs.empty()) return fail(Errc::not_found, "none of its tasks runs");
  return cluster;
}

}  // namespace dt
