#pragma once

#include "launcher/report/outcome.h"

#include <cstddef>
#include <string>

namespace dt {

/// The exit status of a job that ends by the loss of a host.
inline constexpr int status_host_lost = 3;

/// The outcome of a job while its events decide it. The first one that gives an exit status counts.
/// A task's older error replaces a failure that the user does not know yet.
///
/// Tasks are named by their index in Plan::tasks.
class JobVerdict {
 public:
  const Outcome& outcome() const { return outcome_; }
  /// The exit status is final.
  bool decided() const { return decided_; }
  /// A signal or a time limit has decided, not a failure or a lost host.
  bool on_request() const { return decided_ && !outcome_.failure && !by_lost_host(); }
  /// A lost host or port gave the outcome's reason.
  bool by_lost_host() const;
  /// The time limit has ended the job.
  bool timed_out() const { return timed_out_; }

  /// A task's failure or a lost host has ended the job, and nothing forbids that all tasks start
  /// again.
  bool can_restart() const { return ended_by_failure_ && !restart_forbidden_; }
  /// All tasks start again, unless a signal comes before all of them have ended.
  void restart() { restarts_ = true; }
  bool restarts() const { return restarts_ && can_restart(); }

  /// The task has failed. The status counts unless there is one.
  void fail(size_t task, int status, Failure failure);
  /// The failure of a task, or the loss of its host, ends the job.
  void end_by_failure() { ended_by_failure_ = true; }
  /// A host cannot run tasks again, or the user wants no further start, whether that decides or
  /// not.
  void forbid_restart() { restart_forbidden_ = true; }
  /// A host was lost with tasks that ran, whether that decides or not.
  void count_lost_host() { outcome_.host_lost = true; }
  /// A task counts as failed, but its failure decides nothing.
  void count_failed_task() { ++outcome_.failed_tasks; }
  /// Has no effect on what is decided. The job does not start again.
  void decide(int status, std::string reason);
  /// Has no effect on what is decided.
  void lose_host(std::string reason);
  /// The output of a job that ended well so far is not complete: the job has failed.
  void lose_output(std::string reason);
  /// A signal or a limit ends the job. The status counts unless there is one, and so does the
  /// reason.
  void end(int status, std::string reason);
  void time_out(std::string reason);
  /// A signal to dtrain ends the job; `wanted`: it was to run until then, so its status is 0.
  void interrupt(int number, bool wanted);

  /// The outcome has a failure that the user does not know yet.
  bool has_unreported_failure() const { return outcome_.failure && !failure_reported_; }
  /// The index of the task that outcome().failure is about. Requires a failure.
  size_t failed_task() const { return failed_task_; }
  /// The user knows the failure: no older one replaces it any more.
  void failure_reported() { failure_reported_ = true; }
  /// The user knows the outcome's reason.
  void reason_reported() { outcome_.reason_reported = true; }

 private:
  Outcome outcome_;
  bool decided_ = false;
  bool timed_out_ = false;
  bool ended_by_failure_ = false;
  bool restart_forbidden_ = false;
  bool restarts_ = false;
  bool failure_reported_ = false;
  size_t failed_task_ = 0;
};

}  // namespace dt
