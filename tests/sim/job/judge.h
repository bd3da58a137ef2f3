#pragma once

#include "launcher/job/supervision/supervisor.h"
#include "launcher/report/job_record.h"
#include "tests/sim/job/scenario.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace dt {

/// Receives all events of a simulated job, and checks these promises.
///
///   `ends_in_time`      The job ends within a limit.
///   `right_status`      The exit status is that of a failure or disturbance of this run. It is 0
///                       only if all deciding tasks ended well before any of these.
///   `done_stays_done`   A task that ends after all deciding tasks ended well is no failure.
///   `one_report`        One failure is reported, once. At most one warning is about lone MPI.
///   `one_stall`         A rank that keeps others waiting in a collective for too long is reported
///                       once, by name. No other job reports a stall, unless it was disturbed.
///   `all_accounted`     The agent of each started task has reported its end, or the host is lost.
///   `all_notified`      Each live task that has joined is notified of a death within a second.
///   `restarts_used`     The failure of the job is that of a task that has no restart left. No task
///                       has more restarts than its role.
///   `always_restarted`  A task that always starts again does so until the job is done.
///   `one_generation`    While a task lives, no task of another generation does, except on a host
///                       of which the launcher has closed the link. Such a host gets no task before
///                       it has none. There are at most as many restarts as --max-restarts allows,
///                       and a failure ends the job only when it may not start again.
///   `right_size`        A job whose size follows its hosts has as many ranks as they have slots,
///                       within its limits, and no others than hosts that its source names.
///   `output_whole`      All output of hosts that are not lost has arrived.
///   `lines_whole`       Each line of the console is of one task or of dtrain. Both streams are one
///                       pipe.
///   `nothing_left`      No process is left on any host. The exception is a host that was cut off
///                       while it was paused.
///   `stands_still`      No task runs while the job is paused.
///
/// SimulatedHost checks the messages from the launcher to an agent, and their order.
class Judge {
 public:
  explicit Judge(std::string name) : name_(std::move(name)) {}

  /// The first broken promise; empty: all were kept.
  const std::string& complaint() const { return complaint_; }
  /// A hash of all events with their times: the same for the same seed.
  uint64_t trace() const { return trace_; }
  /// The events with their times as text, after want_story().
  const std::string& story() const { return story_; }
  void want_story() { story_wanted_ = true; }

  void note(Time now, const std::string& event);
  void complain(const std::string& what);
  /// From now on the job may end with this exit status.
  void allow(int status) { allowed_.insert(status); }
  /// dtrain is stopped between these two calls, and can notify no task.
  void stand_still(Time now);
  void resume(Time now);
  void logged(const std::string& line);
  /// An attempt of a task.
  struct Attempt {
    TaskId task;
    uint32_t number = first_attempt;
    uint32_t generation = 1;
    auto operator<=>(const Attempt&) const = default;
  };
  void heard(const Attempt& listener, const Notice& notice);
  /// A rank has called the collective; `all` is true when it was the last one.
  void called(int rank, bool all, Time now);
  /// The reader of the console has received these.
  void shown(std::string_view bytes);

  /// Checks that these tasks received the notice of a death, which the launcher knew at `known`.
  void all_notified(const Attempt& dead, Time known, const std::vector<Attempt>& listening);
  /// A task has started: no task of another generation lives.
  void one_generation(const std::vector<std::unique_ptr<SimulatedHost>>& hosts);
  /// A task has started on the same host under a later agent.
  void nothing_runs(const SimulatedHost& earlier);
  void stands_still(const std::vector<std::unique_ptr<SimulatedHost>>& hosts);

  struct End {
    const Outcome& outcome;
    const RunConfig& config;
    const Plan& plan;
    const JobRecord& record;
    const std::vector<SimulatedHost*>& hosts;  ///< as in the plan
    bool undisturbed;
    bool moved;  ///< a task has run on two hosts, or under two agents
    Time ended;
    Duration took;
  };
  void at_end(const End& end);
  void nothing_left(const std::vector<std::unique_ptr<SimulatedHost>>& hosts);

  static constexpr Duration notified_within = seconds(1);

 private:
  void ends_in_time(const End& end);
  void right_status(const End& end);
  void done_stays_done(const End& end);
  void one_report(const End& end);
  void one_stall(const End& end);
  void restarts_used(const End& end);
  void always_restarted(const End& end);
  void generations_used(const End& end);
  void right_size(const End& end);
  void all_accounted(const End& end);
  void output_whole(const End& end);
  void line_whole(std::string_view line);

  std::string name_;
  std::string complaint_;
  uint64_t trace_ = 14695981039346656037U;  // FNV-1a
  bool story_wanted_ = false;
  std::string story_;
  std::set<int> allowed_;
  Duration still_ = {};  ///< the sum of all stops
  Time still_since_ = {};
  Time still_until_ = {};  ///< the end of the last stop
  int reports_ = 0;
  int mpi_warnings_ = 0;
  std::vector<std::string> stalls_;  ///< as they were logged
  std::set<int> called_;
  std::optional<Time> first_call_;
  std::optional<Time> last_call_;  ///< when all ranks had called
  int last_rank_ = -1;             ///< the one that called then
  std::string unfinished_;         ///< the begin of a line of the console
  /// The listener and the dead attempt; `true` when it was to return.
  std::set<std::tuple<Attempt, Attempt, bool>> heard_;
};

inline Judge::Attempt attempt_of(const SimulatedHost::Running& running) {
  return {.task = running.id, .number = running.attempt, .generation = running.generation};
}

}  // namespace dt
