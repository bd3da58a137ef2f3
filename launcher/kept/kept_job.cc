#include "launcher/kept/kept_job.h"

#include "base/bytes.h"
#include "base/io/atomic_file.h"
#include "base/text.h"
#include "base/wall_time.h"
#include "launcher/report/report.h"
#include "launcher/report/report_document.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace dt {
namespace {

/// Between two looks at the record.
constexpr Duration look_period = seconds(1);
/// Before the first write. A job that is over by then writes its files once: a file system may wait
/// for its disk when a file replaces another one.
constexpr Duration first_write_after = milliseconds(200);
/// Between two looks while somebody waits for the start.
constexpr Duration start_look_period = milliseconds(10);
/// The report of a large job costs at most this part of the launcher's time.
constexpr int write_share = 50;
constexpr uint64_t output_bytes = uint64_t{1} << 30;

int64_t seconds_since_1970(WallClock::time_point moment) {
  return std::chrono::duration_cast<std::chrono::seconds>(moment.time_since_epoch()).count();
}

}  // namespace

void keep_output(const KeepOrder& order, RunConfig& config) {
  config.quiet = config.quiet || order.detached;
  const bool wanted = config.keep_output.value_or(output_bytes) > 0;
  if (config.output_dir || !wanted) return;
  config.output_dir = order.folder.file("output");
  config.keep_output = config.keep_output.value_or(output_bytes);
  config.end_on_lost_output = config.end_on_lost_output.value_or(false);
}

KeptJob::KeptJob(KeepOrder order, const Parts& parts) : order_(std::move(order)), parts_(parts) {
  summary_ = {.job = parts.record.job,
              .machine = this_machine(),
              .command = parts.config.command,
              .began_s = seconds_since_1970(parts.record.began_at),
              .output = {}};
  if (parts.config.output_dir)
    summary_.output = std::filesystem::absolute(*parts.config.output_dir).native();
  auto lock = lock_job(order_.folder);
  if (!lock) warn("commands of dtrain job take it for lost", lock.error().message);
  if (lock) lock_ = *std::move(lock);
  write_file("job.toml", order_.text);
  auto server = JobServer::open(parts.runtime.loop(), order_.folder,
                                {.status = [this] { return report(std::nullopt); },
                                 .stop =
                                     [&runtime = parts.runtime](std::optional<Duration> grace) {
                                       runtime.log().print("dtrain job stop ends the job");
                                       runtime.stop(grace);
                                     }});
  if (!server) warn("dtrain job stop does not reach it", server.error().message);
  if (server) server_ = *std::move(server);
  if (!order_.detached) {
    Fd log(::open(order_.folder.file("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                  S_IRUSR | S_IWUSR));
    if (log) parts.runtime.copy_log(std::move(log));
  }
  next_write_ = Clock::now() + first_write_after;
  look();
}

bool KeptJob::all_started() const {
  const auto& tasks = parts_.record.tasks;
  const bool launched = !parts_.record.generations.empty() && !tasks.empty();
  return launched && std::ranges::all_of(
                         tasks, [](const TaskRecord& task) { return task.started.has_value(); });
}

void KeptJob::look() {
  if (order_.started && all_started()) {
    write_all(std::nullopt);
    // The user may have ended the process that waits.
    static_cast<void>(::dt::write_all(order_.started.get(), as_bytes("\n")));
    order_.started.reset();
  }
  const Time now = Clock::now();
  if (now >= next_write_) {
    write_all(std::nullopt);
    const Time after = Clock::now();
    next_write_ = after + std::max(look_period, (after - now) * write_share);
  }
  const Duration period = order_.started ? start_look_period : look_period;
  timer_ =
      parts_.runtime.loop().at(std::min(next_write_, Clock::now() + period), [this] { look(); });
}

Json KeptJob::report(const std::optional<Outcome>& outcome) const {
  return report_document(parts_.record, parts_.config.command, outcome, Clock::now());
}

void KeptJob::write_all(const std::optional<Outcome>& outcome) {
  const std::string text = report(outcome).text(2) + "\n";
  if (text == written_) return;
  written_ = text;
  if (!parts_.record.plan.tasks.empty() && !std::exchange(has_plan_, true)) {
    RunConfig config = parts_.config;
    config.json = true;
    summary_.rank_digits = parts_.record.plan.rank_digits();
    write_file("plan.json", plan_report(parts_.record.plan, config, {}));
  }
  summary_.tasks = static_cast<int>(parts_.record.plan.tasks.size());
  summary_.hosts = static_cast<int>(parts_.record.plan.host_count());
  if (outcome) {
    summary_.ended_s = seconds_since_1970(WallClock::now());
    summary_.exit_status = outcome->exit_status;
    summary_.reason = outcome->reason;
  }
  write_file("summary.json", summary_json(summary_).text(2) + "\n");
  // A reader of the report finds where its tasks write.
  write_file("report.json", text);
}

void KeptJob::write_file(std::string_view name, const std::string& text) {
  const std::string path = order_.folder.file(name);
  auto file = AtomicFile::create(path);
  Result<> written = file ? file->write(as_bytes(text)) : tl::unexpected(file.error());
  if (written) written = file->commit_without_sync();
  if (!written) warn("its state may be old", format("{}: {}", name, written.error().message));
}

void KeptJob::warn(std::string_view what, const std::string& why) {
  if (std::exchange(warned_, true)) return;
  parts_.runtime.log().warn("the folder of the job, {}, cannot be used fully: {}; {}",
                            printable(order_.folder.path), why, what);
}

void KeptJob::end(const Outcome& outcome) {
  timer_ = {};
  write_all(outcome);
}

}  // namespace dt
