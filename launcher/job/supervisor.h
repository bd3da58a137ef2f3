#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/success_rule.h"
#include "launcher/protocol/message.h"
#include "launcher/report/outcome.h"
#include "rendezvous/cluster/task.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What the job shall do next; carried out in order.
struct Action {
  enum class Kind {
    notify,   ///< tell the rendezvous (and through it every engine) about a death or departure
    signal,   ///< to the process groups of all running tasks
    pause,    ///< agents stop all tasks where they are, and answer
    suspend,  ///< stop this process itself; then tell resumed() when it goes on
    resume,   ///< undo `pause`; nothing has expired meanwhile
    abandon,  ///< do not wait any longer: agents end what is left by themselves
    finish,   ///< agents end what is left, and go
    warn,     ///< tell the user `text`
  };
  Kind kind = Kind::finish;
  int signal = 0;
  Notice notice;
  std::string text = {};
  bool operator==(const Action&) const = default;
};
using Actions = std::vector<Action>;

/// Decides over the life of a job: what happened and when in, actions out. No I/O, no clock.
///
///            all tasks exit                         all agents finished
///   running ─────────────────▶ finishing ─────────────────────────────▶ gone
///      │ │                             ▲ all exit; at once with --clean all
///      │ └ who decides has ended ▶ completing (--clean none: until all have ended)
///      │                               │ the workers have ended, or --grace is over
///      │ failure, signal, time limit   ▼
///      └─────────────────────────▶ stopping (first signal, --grace)
///                                      ▼
///                                  killing (SIGKILL) ▶ finishing: all exit, or the kernel will
///                                                      not let go
///
/// Whatever ends once the job is completing has completed too: it is no failure. What then is lost
/// with its host is none either, but has not completed.
///
/// A held port that another user takes ends the job as a time limit does.
///
/// In each of these Ctrl-Z stops time: pause ▶ all agents have answered ▶ suspend ▶ resume. What
/// ends the job calls off a pause that is not complete.
///
/// Tasks are named by their place in Plan::tasks.
class Supervisor {
 public:
  struct Options {
    Duration grace = seconds(10);
    std::optional<Duration> timeout;
    Time start_deadline = Time::max();     ///< for the last `started`
    Duration start_timeout = seconds(30);  ///< the same as people gave it, for words
    bool continue_on_failure = false;
    SuccessOptions success = {};
  };
  Supervisor(Plan plan, Options options, Time now);

  Actions started(size_t task, int64_t pid, Time now);
  Actions start_failed(size_t task, int status, std::string why, Time now);
  /// `error`: why it failed, by its own word.
  Actions exited(size_t task, const ExitStatus& status, Time now,
                 const std::optional<TaskError>& error = {});
  /// The outcome has a failure that the user does not know yet.
  bool has_unreported_failure() const { return outcome_.failure && !failure_reported_; }
  /// The index of the task that outcome().failure is about. Requires a failure.
  size_t failed_task() const { return failed_task_; }
  /// The user knows the failure: no older one replaces it any more.
  void failure_reported() { failure_reported_ = true; }
  /// The user knows the outcome's reason.
  void reason_reported() { outcome_.reason_told = true; }
  /// Its tasks count as dead. `why` is a sentence's second half: "no heartbeat for 5s".
  Actions agent_lost(size_t agent, const std::string& why, Time now);
  /// Another user listens where a task shall: no task can trust its peers. `why` names all that.
  Actions port_taken(std::string why, Time now);
  /// A signal to dtrain that means stop. The second one kills at once, if it does not follow so
  /// quickly that it is part of the first request.
  Actions interrupted(int number, Time now);
  /// The agent has ended all that was left, and goes.
  Actions agent_finished(size_t agent, Time now);
  /// A signal to dtrain that means stop for a while (Ctrl-Z).
  Actions pause_wanted(Time now);
  /// The agent has stopped its tasks.
  Actions paused(size_t agent, Time now);
  /// This process goes on after Action::suspend.
  Actions resumed(Time now);
  /// To be called at next_deadline(); harmless at other times.
  Actions tick(Time now);
  Time next_deadline() const;

  /// Those who decide have ended, and whoever still runs is not needed any more. Not so where all
  /// have ended at once.
  bool done() const { return done_; }
  /// It ended well, or when the job was done; not what was lost with its host.
  bool completed(size_t task) const { return ended(task) && !tasks_[task].failed; }
  /// The agents may end what is left (said once by Action::finish).
  bool finishing() const { return phase_ == Phase::finishing; }
  const Outcome& outcome() const { return outcome_; }
  /// The outcome's reason is that of agent_lost() or port_taken().
  bool lost_host_decided() const;
  /// Neither has it started nor is it known that it cannot.
  bool starting(size_t task) const { return tasks_[task].life == Life::starting; }
  bool ended(size_t task) const { return tasks_[task].life == Life::ended; }
  /// Tasks that have not ended, for messages.
  std::vector<size_t> running() const;

 private:
  enum class Phase { running, completing, stopping, killing, finishing };
  enum class Life { starting, running, ended };
  struct TaskState {
    Life life = Life::starting;
    int64_t pid = 0;
    bool failed = false;
  };

  std::string cause_of(const ExitStatus& status) const;
  Failure failure_of(size_t task, std::string cause) const;
  void fail_task(size_t task, int status, std::string cause,
                 const std::optional<TaskError>& error = {});
  void excuse_task(size_t task, const std::string& cause, Actions& actions);
  void stop(int signal, Time now, Actions& actions);
  void kill_all(Time now, Actions& actions);
  void end_task(size_t task, Time now, Actions& actions);
  void decide_after_failure(Time now, Actions& actions);
  void complete(Time now, Actions& actions);
  void end_rest(Time now, Actions& actions);
  /// A signal or a time limit has decided, no failure and no lost host.
  bool ends_on_request() const;
  /// Nobody and nothing has ended the job yet.
  bool going_on() const { return phase_ == Phase::running || phase_ == Phase::completing; }
  void finish(Actions& actions, Time now);
  void suspend_if_all_paused(Actions& actions);
  void end_pause(Time now, Actions& actions);

  Plan plan_;
  Options options_;
  std::vector<TaskRule> parts_;
  std::vector<TaskState> tasks_;
  ptrdiff_t deciding_ = 0;   ///< tasks that decide and have not ended
  ptrdiff_t lingering_ = 0;  ///< tasks that get time to end by themselves and have not
  size_t ended_ = 0;
  size_t started_ = 0;
  Phase phase_ = Phase::running;
  Time same_request_until_;  ///< a stop signal before that belongs to the one before it
  Outcome outcome_;
  bool decided_ = false;  ///< the exit status stands
  bool failure_reported_ = false;
  size_t failed_task_ = 0;
  bool done_ = false;  ///< who decides has ended
  Time time_limit_;
  Time phase_deadline_ = Time::max();
  std::vector<int> pauses_unanswered_;  ///< by each agent
  std::vector<bool> agents_gone_;
  std::optional<Time> paused_at_;  ///< since then time stands still
};

}  // namespace dt
