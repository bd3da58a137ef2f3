#pragma once

#include "launcher/job/supervisor.h"
#include "launcher/report/job_record.h"
#include "tests/sim/job/scenario.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Hears all that happens in a simulated job, and knows what is promised, whatever that is:
///
///   ends_in_time       the job ends, within bounds
///   right_status       its exit status is that of something that went wrong, and the one of the
///                      first where only one did; 0 only if nothing did before all who decide had
///                      ended well
///   done_stays_done    what ends after all who decide have ended well is no failure
///   one_report         one failure is reported, once, and MPI that runs alone no more than that
///   all_accounted      each task that started has ended by its agent's word, or its host is lost
///   all_told           each live task that has joined hears of a death within a second
///   output_whole       all output of hosts that are not lost has arrived
///   lines_whole        on the console, one pipe for both streams, each line is of one task or of
///                      dtrain
///   nothing_left       nothing is left on any host, not even on one that was cut off (but while it
///                      was paused)
///   stands_still       nothing runs while the job is paused
///
/// What the launcher says to an agent, and when, is judged by SimulatedHost.
class Judge {
 public:
  explicit Judge(std::string name) : name_(std::move(name)) {}

  /// The first broken promise; empty: all were kept.
  const std::string& complaint() const { return complaint_; }
  /// Of everything that happened, and when: the same for the same seed.
  uint64_t trace() const { return trace_; }
  /// The same for people, if it was wanted.
  const std::string& story() const { return story_; }
  void want_story() { story_wanted_ = true; }

  void note(Time now, const std::string& event);
  void complain(const std::string& what);
  /// There is a reason for this exit status now.
  void allow(int status) { allowed_.insert(status); }
  /// dtrain does nothing between these: neither can it tell anybody anything.
  void stand_still(Time now);
  void go_on(Time now);
  void logged(const std::string& line);
  void heard(const TaskId& who, const Notice& notice);
  /// The reader of the console has received these.
  void shown(std::string_view bytes);

  /// These had to be told of a death that the launcher has known of since then.
  void all_told(const TaskId& dead, Time known, const std::vector<TaskId>& listening);
  void stands_still(const std::vector<std::unique_ptr<SimulatedHost>>& hosts);

  struct End {
    const Outcome& outcome;
    const SuccessOptions& success;
    const Plan& plan;
    const JobRecord& record;
    const std::vector<SimulatedHost*>& hosts;  ///< as in the plan
    Duration took;
  };
  void at_end(const End& end);
  void nothing_left(const std::vector<std::unique_ptr<SimulatedHost>>& hosts);

  static constexpr Duration told_within = seconds(1);

 private:
  void ends_in_time(const End& end);
  void right_status(const End& end);
  void done_stays_done(const End& end);
  void one_report(const End& end);
  void all_accounted(const End& end);
  void output_whole(const End& end);
  void line_whole(std::string_view line);

  std::string name_;
  std::string complaint_;
  uint64_t trace_ = 14695981039346656037U;  // FNV-1a
  bool story_wanted_ = false;
  std::string story_;
  std::set<int> allowed_;
  Duration still_ = {};  ///< altogether
  Time still_since_ = {};
  Time still_until_ = {};  ///< the last time
  int reports_ = 0;
  int mpi_warnings_ = 0;
  std::string unfinished_;                     ///< line of the console
  std::set<std::pair<TaskId, TaskId>> heard_;  ///< who, of whom
};

}  // namespace dt
