#include "cmd/kept_command.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "base/json.h"
#include "base/text.h"
#include "base/wall_time.h"
#include "launcher/console/task_folders.h"
#include "launcher/console/task_output.h"
#include "launcher/kept/job_folder.h"
#include "launcher/kept/job_logs.h"
#include "launcher/kept/job_server.h"
#include "launcher/kept/job_status.h"
#include "launcher/kept/job_summary.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace dt {
namespace {

using Action = KeptWords::Action;

constexpr size_t report_bytes_max = size_t{256} << 20;
/// Between two looks at files that others write.
constexpr Duration look_period = milliseconds(100);

int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(WallClock::now().time_since_epoch())
      .count();
}

Result<int> print(std::string_view text) {
  TRY(write_all(STDOUT_FILENO, as_bytes(text)));
  return 0;
}

/// Returns the job's report as it is now: from its launcher, else from its folder.
Result<Json> report_of(const KnownJob& job) {
  if (job.state == JobState::running) {
    auto answer = ask_job(job.folder, Json::Object{{"ask", "status"}});
    if (answer) return std::move(answer->document);
  }
  const auto text = read_text_file(job.folder.file("report.json"), report_bytes_max);
  if (!text) {
    return fail(Errc::input, format("{} has no report: {}", job.folder.id, text.error().message));
  }
  return Json::parse(*text);
}

Result<int> list_jobs(const std::string& root, const Machine& here, bool json) {
  std::vector<KnownJob> jobs;
  for (JobFolder& folder : job_folders(root))
    jobs.push_back(look_at_job(std::move(folder), here));
  if (!json) return print(list_text(jobs, now_s()));
  Json::Array all;
  std::ranges::transform(jobs, std::back_inserter(all), known_job_json);
  return print(Json(std::move(all)).text(2) + "\n");
}

Result<int> print_cluster(const KnownJob& job, const std::vector<ReportedTask>& tasks,
                          bool tf_config_too) {
  const auto cluster = running_cluster(tasks);
  if (!cluster) return fail(Errc::input, format("{}: {}", job.folder.id, cluster.error().message));
  if (!tf_config_too) return print(cluster->json().text() + "\n");
  // A client is no task of the cluster: TensorFlow takes it for the coordinator then.
  return print(Json(Json::Object{{"cluster", cluster->json()}}).text() + "\n");
}

Result<int> show_status(const KnownJob& job, const KeptWords& words) {
  auto report = report_of(job);
  auto tasks = report ? reported_tasks(*report)
                      : Result<std::vector<ReportedTask>>(tl::unexpected(report.error()));
  const bool cluster = words.cluster_spec || words.tf_config;
  if (cluster && !tasks) return tl::unexpected(tasks.error());
  if (cluster) return print_cluster(job, *tasks, words.tf_config);
  if (words.json) {
    Json document = known_job_json(job);
    Json::Object all = *document.as<Json::Object>();
    all.emplace_back("report", report ? *std::move(report) : Json());
    return print(Json(std::move(all)).text(2) + "\n");
  }
  // A job that has not got as far as a report has no tasks.
  std::vector<ReportedTask> shown = tasks ? *std::move(tasks) : std::vector<ReportedTask>();
  look_at_outputs(job.summary, WallClock::now(), shown);
  return print(status_text(job, shown, now_s()));
}

/// Returns the error for a task that the job does not have.
tl::unexpected<Error> no_such_task(const KeptWords& words, const KnownJob& job,
                                   const std::vector<ReportedTask>& tasks) {
  std::vector<std::string> names;
  for (const ReportedTask& task : tasks)
    if (!words.rank || task.rank >= 0)
      names.push_back(words.rank ? format("{}", task.rank) : task.name());
  constexpr size_t shown_max = 12;
  const bool cut = names.size() > shown_max;
  if (cut) names.resize(shown_max);
  return fail(Errc::input,
              format("{} has no {}; it has {}{}", job.folder.id,
                     words.rank ? format("rank {}", *words.rank) : "task " + words.task->text(),
                     names.empty() ? "none" : join(names, ", "), cut ? ", …" : ""));
}

/// Returns the files that `dtrain job logs` shows.
Result<std::vector<LogFile>> log_files(const KnownJob& job, const KeptWords& words) {
  std::vector<LogFile> files;
  const bool all = !words.rank && !words.task;
  if (all) files.push_back({.path = job.folder.file("log"), .tag = "", .of_error = true});
  const auto text = read_text_file(job.folder.file("report.json"), report_bytes_max);
  const auto report = text ? Json::parse(*text) : Result<Json>(Json::Object{});
  const auto tasks = report ? reported_tasks(*report) : Result<std::vector<ReportedTask>>();
  if (!tasks) return files;
  bool found = all || tasks->empty();
  for (const ReportedTask& reported : *tasks) {
    const bool is_meant =
        (words.rank && reported.rank == *words.rank) || (words.task && reported.id == *words.task);
    if (!all && !is_meant) continue;
    found = true;
    const Task task = {.id = reported.id, .rank = reported.rank};
    for (const TaskStream stream : {TaskStream::output, TaskStream::error}) {
      const bool of_error = stream == TaskStream::error;
      files.push_back(
          {.path = format("{}/{}/{}", job.summary.output,
                          task_folder_name(reported.id, reported.rank, job.summary.rank_digits),
                          of_error ? "stderr" : "stdout"),
           .tag = output_tag(task, stream),
           .of_error = of_error});
    }
  }
  if (!found) return no_such_task(words, job, *tasks);
  return files;
}

/// Returns 0 when there is no such file.
ino_t inode_of(const std::string& path) {
  struct stat about = {};
  return ::stat(path.c_str(), &about) < 0 ? 0 : about.st_ino;
}

Result<int> show_logs(KnownJob job, const Machine& here, const KeptWords& words) {
  JobLogs logs({.tail = words.tail,
                .out_terminal = ::isatty(STDOUT_FILENO) != 0,
                .err_terminal = ::isatty(STDERR_FILENO) != 0},
               [](bool of_error, std::string_view text) {
                 return write_all(of_error ? STDERR_FILENO : STDOUT_FILENO, as_bytes(text));
               });
  const std::unique_ptr<Loop> loop = TRY(Loop::create());
  ino_t last_inode = ~ino_t{0};  // that of no report, which may be missing, too
  for (;;) {
    // A job's last lines are read after it is seen to have ended.
    const bool is_last = !words.follow || job.state != JobState::running;
    // The report of a large job is long, and a new file whenever it changes.
    const ino_t inode = inode_of(job.folder.file("report.json"));
    if (inode != std::exchange(last_inode, inode)) {
      job = look_at_job(std::move(job.folder), here);
      const std::vector<LogFile> files = TRY(log_files(job, words));
      logs.add(files);
    }
    for (bool any = true; any;) {
      any = TRY(logs.show_new());
    }
    if (is_last) break;
    TRY(loop->run_once(loop->now() + look_period));
    job = look_at_job(std::move(job.folder), here);
  }
  TRY(logs.finish());
  return 0;
}

/// Returns the error for what only the launcher's own machine can do.
tl::unexpected<Error> runs_elsewhere(const KnownJob& job, std::string_view words) {
  const std::string& machine = job.summary.machine.name;
  return fail(Errc::input, format("{0} runs on {1}; there: ssh {1} dtrain job {2} {0}",
                                  job.folder.id, printable(machine), words));
}

Result<int> stop_job(const KnownJob& job, const KeptWords& words) {
  if (job.state == JobState::elsewhere) return runs_elsewhere(job, "stop");
  if (job.state != JobState::running) return 0;
  Json grace;
  if (words.grace)
    grace = std::chrono::duration_cast<std::chrono::duration<double>>(*words.grace).count();
  const auto answer = ask_job(job.folder, Json::Object{{"ask", "stop"}, {"grace_s", grace}});
  if (!answer) {
    return fail(Errc::os,
                format("{}: cannot reach its launcher: {}; end it by: kill {}", job.folder.id,
                       answer.error().message, static_cast<int64_t>(job.launcher.value_or(0))));
  }
  await_end(answer->connection);
  return 0;
}

/// Returns the job's own status. 137, as after SIGKILL, where its launcher has died.
Result<int> wait_for_job(KnownJob job, const Machine& here) {
  constexpr int lost_status = 137;
  const std::unique_ptr<Loop> loop = TRY(Loop::create());
  while (job.state == JobState::running || job.state == JobState::elsewhere) {
    TRY(loop->run_once(loop->now() + look_period));
    job = look_at_job(std::move(job.folder), here);
  }
  if (job.state == JobState::ended) return *job.summary.exit_status;
  TRY(write_all(STDERR_FILENO,
                as_bytes(format("dtrain: {}: its launcher has died; its tasks have ended with it\n",
                                job.folder.id))));
  return lost_status;
}

Result<int> remove_job(const KnownJob& job) {
  if (job.state == JobState::elsewhere) return runs_elsewhere(job, "rm");
  if (job.state == JobState::running) {
    return fail(Errc::input,
                format("{0} is running; stop it first: dtrain job stop {0}", job.folder.id));
  }
  TRY(remove_job_folder(job.folder));
  return 0;
}

}  // namespace

Result<int> run_kept(const KeptWords& words, const Environment& environment) {
  const std::string root = TRY(jobs_root(environment));
  const Machine here = this_machine();
  if (words.action == Action::list) return list_jobs(root, here, words.json);
  const JobFolder folder = TRY(find_job(root, words.id));
  KnownJob job = look_at_job(folder, here);
  switch (words.action) {
    case Action::status:
      return show_status(job, words);
    case Action::logs:
      return show_logs(std::move(job), here, words);
    case Action::stop:
      return stop_job(job, words);
    case Action::wait:
      return wait_for_job(std::move(job), here);
    default:
      return remove_job(job);
  }
}

}  // namespace dt
