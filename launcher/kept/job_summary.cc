#include "launcher/kept/job_summary.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/report/json_values.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

namespace dt {
namespace {

constexpr size_t summary_bytes_max = size_t{4} << 20;
constexpr size_t kept_jobs = 30;
constexpr int64_t kept_s = int64_t{30} * 24 * 3600;

Json number_or_null(const std::optional<int64_t>& number) {
  return number ? Json(*number) : Json();
}

std::string text_of(const Json& document, std::string_view name) {
  const Json* const found = document.find(name);
  const auto* const text = found == nullptr ? nullptr : found->as<std::string>();
  return text == nullptr ? "" : *text;
}

std::optional<int64_t> number_of(const Json& document, std::string_view name) {
  const Json* const found = document.find(name);
  const auto* const number = found == nullptr ? nullptr : found->as<int64_t>();
  if (number == nullptr) return std::nullopt;
  return *number;
}

int small_number_of(const Json& document, std::string_view name) {
  const int64_t number = number_of(document, name).value_or(0);
  const bool fits = number >= 0 && number <= std::numeric_limits<int>::max();
  return fits ? static_cast<int>(number) : 0;
}

/// A machine may get another name while it runs, and another boot id when it starts again.
bool is_same(const Machine& one, const Machine& other) {
  return one.name == other.name || (!one.boot.empty() && one.boot == other.boot);
}

}  // namespace

Machine this_machine() {
  utsname names = {};
  ::uname(&names);
  const auto boot = read_text_file("/proc/sys/kernel/random/boot_id", 100);
  return {.name = static_cast<const char*>(names.nodename),
          .boot = boot ? std::string(trim(*boot)) : ""};
}

Json summary_json(const JobSummary& summary) {
  Json::Array command(summary.command.begin(), summary.command.end());
  const auto& status = summary.exit_status;
  return Json::Object{{"job", summary.job},
                      {"machine", summary.machine.name},
                      {"boot", summary.machine.boot},
                      {"command", std::move(command)},
                      {"began_s", summary.began_s},
                      {"ended_s", number_or_null(summary.ended_s)},
                      {"exit_status", status ? Json(*status) : Json()},
                      {"reason", text_or_null(summary.reason)},
                      {"tasks", summary.tasks},
                      {"hosts", summary.hosts},
                      {"rank_digits", summary.rank_digits},
                      {"output", text_or_null(summary.output)}};
}

Result<JobSummary> parse_summary(const Json& document) {
  const std::optional<int64_t> began = number_of(document, "began_s");
  if (!began) return fail(Errc::input, "it is no summary of a job");
  JobSummary summary = {.job = text_of(document, "job"),
                        .machine = {text_of(document, "machine"), text_of(document, "boot")},
                        .command = {},
                        .began_s = *began,
                        .ended_s = number_of(document, "ended_s"),
                        .exit_status = {},
                        .reason = text_of(document, "reason"),
                        .tasks = small_number_of(document, "tasks"),
                        .hosts = small_number_of(document, "hosts"),
                        .rank_digits = std::max(small_number_of(document, "rank_digits"), 1),
                        .output = text_of(document, "output")};
  if (number_of(document, "exit_status"))
    summary.exit_status = small_number_of(document, "exit_status");
  const Json* const command = document.find("command");
  const auto* const words = command == nullptr ? nullptr : command->as<Json::Array>();
  if (words == nullptr) return summary;
  for (const Json& word : *words)
    if (const auto* const text = word.as<std::string>()) summary.command.push_back(*text);
  return summary;
}

KnownJob look_at_job(JobFolder folder, const Machine& here) {
  KnownJob job = {.folder = std::move(folder), .summary = {}};
  const auto text = read_text_file(job.folder.file("summary.json"), summary_bytes_max);
  const auto document = text ? Json::parse(*text) : Result<Json>(tl::unexpected(text.error()));
  const auto summary =
      document ? parse_summary(*document) : Result<JobSummary>(tl::unexpected(document.error()));
  if (summary) job.summary = *summary;
  job.launcher = job_holder(job.folder);
  if (job.launcher) {
    job.state = JobState::running;
  } else if (job.summary.exit_status) {
    job.state = JobState::ended;
  } else if (summary && !is_same(job.summary.machine, here)) {
    job.state = JobState::elsewhere;
  }
  return job;
}

std::string state_text(const KnownJob& job) {
  switch (job.state) {
    case JobState::running:
      return "running";
    case JobState::ended:
      return format("ended with status {}", job.summary.exit_status.value_or(0));
    case JobState::elsewhere:
      return format("on {}", printable(job.summary.machine.name));
    case JobState::lost:
      break;
  }
  return "lost";
}

Json known_job_json(const KnownJob& job) {
  constexpr std::array<std::string_view, 4> names = {"running", "ended", "lost", "elsewhere"};
  Json::Object all = {{"id", job.folder.id},
                      {"state", names.at(static_cast<size_t>(job.state))},
                      {"folder", job.folder.path},
                      {"launcher_pid", job.launcher ? Json(int64_t{*job.launcher}) : Json()}};
  const Json summary = summary_json(job.summary);
  for (const auto& member : *summary.as<Json::Object>())
    all.push_back(member);
  return all;
}

Result<JobFolder> new_job_folder(const Environment& environment, const std::string& name) {
  const std::string root = TRY(jobs_root(environment));
  JobFolder folder = TRY(make_job_folder(root, name));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  remove_old_jobs(root, std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                  this_machine());
  return folder;
}

void remove_old_jobs(const std::string& root, int64_t now_s, const Machine& here) {
  const std::vector<JobFolder> folders = job_folders(root);
  for (size_t at = kept_jobs; at < folders.size(); ++at) {
    // Nothing is older than its end: the younger ones need no further look.
    if (now_s - folders[at].began_s <= kept_s) continue;
    const KnownJob job = look_at_job(folders[at], here);
    const bool is_over = job.state == JobState::ended || job.state == JobState::lost;
    const int64_t end_s = job.summary.ended_s.value_or(job.summary.began_s);
    // A folder that cannot be removed stays.
    if (is_over && now_s - end_s > kept_s) static_cast<void>(remove_job_folder(job.folder));
  }
}

}  // namespace dt
