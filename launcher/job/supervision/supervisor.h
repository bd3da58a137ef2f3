#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "launcher/job/supervision/job_verdict.h"
#include "launcher/job/supervision/needed_tasks.h"
#include "launcher/job/supervision/pause.h"
#include "launcher/job/supervision/task_lives.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/recent_signals.h"
#include "launcher/report/outcome.h"
#include "rendezvous/cluster/task.h"

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// An action for the job to carry out, in the order of the list.
struct Action {
  enum class Kind {
    notify,        ///< send `notice` to the rendezvous, which notifies every engine
    start,         ///< start `attempt` of `task`, whose attempt before has ended
    signal,        ///< send a signal to the process groups of all running tasks
    dump,          ///< send SIGQUIT to the processes that catch it, so that they write their stacks
    pause,         ///< agents stop all tasks for a while, and answer
    suspend,       ///< stop this process; call resumed() after SIGCONT
    resume,        ///< undo `pause`; no deadline has passed meanwhile
    stop_waiting,  ///< for agents: they end the processes that are left on their own
    finish,        ///< agents end the processes that are left, and exit
    warn,          ///< log `text` as a warning
    note,          ///< print `text`
  };
  Kind kind = Kind::finish;
  int signal = 0;
  Notice notice;
  std::string text = {};
  size_t task = 0;
  uint32_t attempt = 0;
  bool operator==(const Action&) const = default;
};
using Actions = std::vector<Action>;

/// Decides about the life of a job: takes events and `now`, returns actions. No I/O, no clock. The
/// phases, and the reasons to leave them:
///
///   Running ────▶ finishing:  all tasks have exited.
///   Running ────▶ completing: the tasks that decide have ended.
///   Running ────▶ stopping:   a failure, a lost host or port; a signal or a time limit.
///   Running ────▶ dumping:    a signal or a time limit, with --dump-stacks.
///   Completing ─▶ finishing:  all tasks have exited.
///   Completing ─▶ stopping:   the workers have ended, or --grace is over. With --clean all the job
///                             finishes instead; with --clean none it waits for all tasks.
///   Completing ─▶ dumping:    as from running.
///   Dumping ────▶ finishing:  all tasks have exited.
///   Dumping ────▶ stopping:   2 s are over, or a signal means stop.
///   Stopping ───▶ finishing:  all tasks have exited.
///   Stopping ───▶ killing:    --grace is over and no task writes a file that would be lost (for at
///                             most 5 min), or a second signal means stop.
///   Killing ────▶ finishing:  all tasks have exited, or the kernel could not end them in time.
///   Finishing ──▶ the end:    all agents have finished.
///
/// The end may be that of a generation: after the failure of a task or the loss of a host all tasks
/// start again, if the options allow it (JobVerdict::restarts). The loss of a host without tasks, a
/// spare, is a warning.
///
/// While the job runs, a failed task with restarts (TaskLives) waits a moment, and starts again as
/// its next attempt. So does a task that ended well, if its role asks for it (restarts_always).
/// When the job leaves this phase, a task that waits has ended as its last attempt.
///
/// A task that ends while the job is completing has completed too: that is no failure. A task that
/// is then lost with its host is no failure either, but has not completed.
///
/// In each phase Ctrl-Z stops time: pause, the answers of all agents, suspend, resume. An event
/// that ends the job cancels a pause that is not complete.
///
/// Tasks are named by their index in Plan::tasks.
class Supervisor {
 public:
  struct Options {
    Duration grace = seconds(10);
    std::optional<Duration> timeout;
    Time start_deadline = Time::max();     ///< of the last task
    Duration start_timeout = seconds(30);  ///< the option that gave it, for messages
    bool continue_on_failure = false;
    bool dump_stacks = false;
    SuccessOptions success = {};
    /// True while a task writes a file that SIGKILL would lose; empty: never.
    std::function<bool()> writes_file = {};
    /// Called when a failure or a lost host has ended the job: true if all tasks start again;
    /// empty: never.
    std::function<bool(const Outcome& failed)> may_restart = {};
  };
  Supervisor(Plan plan, Options options, Time now);

  Actions started(size_t task, int64_t pid, Time now);
  Actions start_failed(size_t task, int status, std::string why, Time now);
  /// `error`: the exception that the task reported, if any.
  Actions exited(size_t task, const ExitStatus& status, Time now,
                 const std::optional<TaskError>& error = {});
  /// The tasks of this agent count as dead. `why` is half a sentence: "no heartbeat for 5s".
  Actions agent_lost(size_t agent, const std::string& why, Time now);
  /// That agent was lost after tasks of it ended, and before all their output had come. A job that
  /// ended well so far has failed.
  void output_lost(size_t agent, const std::string& why);
  /// Another user listens at the port of a task, so that no task can trust its peers. Ends the job
  /// as a time limit does. `why`: the message to the user.
  Actions port_taken(std::string why, Time now);
  /// A signal to dtrain that means stop. A second one kills at once, unless it comes within 300 ms
  /// of the first. Then it belongs to the same request.
  Actions interrupted(int number, Time now);
  /// A scheduler has sent this signal to an agent and its tasks. SIGTERM ends the job as the
  /// scheduler's request, to which a SIGTERM to dtrain within 5 s belongs. Any other signal is for
  /// all tasks; further reports of it within 5 s belong to the first.
  Actions agent_signalled(int number, Time now);
  /// The reader of the job's output has gone: the job ends with SIGPIPE's status.
  Actions reader_gone(Time now);
  /// The agent has ended all processes that were left, and exits.
  Actions agent_finished(size_t agent);
  /// A signal to dtrain that means pause (Ctrl-Z).
  Actions pause_wanted(Time now);
  /// The agent has stopped its tasks.
  Actions paused(size_t agent);
  /// This process has continued, after Action::suspend or before the pause was complete.
  Actions resumed(Time now);
  /// Call it at next_deadline(); earlier calls have no effect.
  Actions tick(Time now);
  Time next_deadline() const;
  /// When --timeout ends the job, unless it is paused; Time::max() without one.
  Time time_limit() const { return pause_.on() ? Time::max() : time_limit_; }

  /// The tasks that decide have ended, and the job does not need the tasks that still run. False
  /// when no phase `completing` came before the end.
  bool done() const { return done_; }
  /// Action::finish has been returned: the agents may end the processes that are left.
  bool finishing() const { return phase_ == Phase::finishing; }
  const Outcome& outcome() const { return verdict_.outcome(); }
  /// For those that report it.
  JobVerdict& verdict() { return verdict_; }
  const TaskLives& lives() const { return lives_; }

 private:
  enum class Phase { running, completing, dumping, stopping, killing, finishing };
  void fail_task(size_t task, int status, std::string cause,
                 const std::optional<TaskError>& error = {});
  Failure failure_of(size_t task, std::string cause) const;
  Action notify(Notice::Kind kind, size_t task, std::string cause, bool returns = false) const;
  void restart_later(size_t task, const ExitStatus& status, Time now, Actions& actions);
  void restart_due(Time now, Actions& actions);
  void abandon_restarts(Time now, Actions& actions);
  void excuse_task(size_t task, int status, const std::string& cause,
                   const std::optional<TaskError>& error, Actions& actions);
  /// Excuses all tasks of a lost host; false when the job needs one of them.
  bool excuse_host(size_t agent, const std::string& cause, Time now, Actions& actions);
  void stop_on_request(int signal, Time now, Actions& actions);
  void send_stop(int signal, Time now, Actions& actions);
  void kill_all(Time now, Actions& actions);
  void end_task(size_t task, Time now, Actions& actions);
  void complete(Time now, Actions& actions, bool failed = false);
  void end_rest(Time now, Actions& actions);
  /// Nothing has stopped the job yet.
  bool not_stopped() const { return phase_ == Phase::running || phase_ == Phase::completing; }
  void finish(Actions& actions, Time now);
  /// Appends Action::suspend when no agent has still to answer the pause.
  Actions suspend_if_all_paused(Actions actions = {}) const;
  void end_pause(Time now, Actions& actions);

  Plan plan_;
  Options options_;
  TaskLives lives_;
  NeededTasks needed_;
  Pause pause_;  ///< in it no deadline passes
  JobVerdict verdict_;
  Phase phase_ = Phase::running;
  Time phase_deadline_ = Time::max();
  Time write_deadline_ = Time::max();  ///< of a file that is written in phase stopping
  bool write_noted_ = false;
  Time same_request_until_;       ///< until then a stop signal belongs to the last one
  RecentSignals from_scheduler_;  ///< that agents have reported
  bool done_ = false;             ///< the tasks that decide have ended
  Time time_limit_;
  Time note_at_ = Time::max();  ///< when the user learns for which tasks a stop signal waits
  int stop_signal_ = 0;         ///< the first signal to dtrain that meant stop
  int after_dump_ = SIGTERM;    ///< the signal for the tasks when they have written their stacks
};

}  // namespace dt
