#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "launcher/config/config.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/status_line.h"
#include "launcher/console/task_input.h"
#include "launcher/console/task_output.h"
#include "launcher/job/failure_reporter.h"
#include "launcher/job/host_clocks.h"
#include "launcher/job/mpi_notice.h"
#include "launcher/job/own_sweep.h"
#include "launcher/job/running_reporter.h"
#include "launcher/job/stall_reporter.h"
#include "launcher/job/start/launch_orders.h"
#include "launcher/job/start/reach.h"
#include "launcher/job/supervision/supervisor.h"
#include "launcher/network/relay_endpoints.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/stream_credit.h"
#include "launcher/report/job_record.h"
#include "rendezvous/store/server.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A launched job, or one generation of it: hands the messages of agents to the Supervisor, and
/// carries out the actions that the Supervisor returns.
class Job {
 public:
  /// All of it outlives the job.
  struct Dependencies {
    Loop& loop;
    AgentGroup& agents;
    RendezvousServer& rendezvous;
    TaskOutput& output;
    Log& log;
    JobRecord& record;
    StatusLine& status;
    std::function<void()> suspend;  ///< stops this process; returns after SIGCONT
    std::vector<pid_t> spared;      ///< children of this process older than any agent
    /// Called when all tasks have ended for good, before the agents exit; may be empty.
    std::function<Result<>(const AgentGroup::Awaited&)> before_exit = {};
  };
  struct Terms {
    Time start_deadline;  ///< when the last task must have started
    Time limit_since;     ///< the begin of --timeout
    /// As in Supervisor::Options; empty: the job never starts again.
    std::function<bool(const Outcome& failed)> may_restart = {};
  };
  Job(Dependencies parts, Plan plan, const RunConfig& config, const Terms& terms);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  /// Messages of agents are dropped from then on.
  ~Job();

  /// Starts all tasks. When it fails, no agent has received an order.
  Result<> launch(const LaunchFacts& facts);
  /// Runs the loop until all tasks have ended and all agents have finished.
  Result<> supervise();
  /// Waits for the exit of all agents, until a limit or a signal that means stop, and kills the
  /// others.
  Result<> collect();
  /// Called for each signal that dtrain receives.
  void signalled(int number);
  Outcome outcome() const { return supervisor_.outcome(); }
  /// After supervise(): the agents have stayed, because all tasks start again.
  bool starts_again() { return supervisor_.verdict().restarts(); }
  /// When --timeout ends the job, later by each pause; Time::max() without one.
  Time time_limit() const { return supervisor_.time_limit(); }

 private:
  /// A stream of a task on its way to the console and to files.
  struct OutputStream {
    StreamCredit credit;
    size_t unwritten = 0;  ///< bytes received that TaskOutput has not written yet
  };

  Result<> message(size_t agent, const FrameView& message);
  Result<> on_stream(size_t agent, const FrameView& message);
  Result<> on_output(size_t agent, size_t task, StreamId id, ByteSpan bytes);
  void output_written(size_t agent, size_t task, StreamId id, size_t size);
  Result<Actions> decide(size_t agent, const FrameView& message);
  Result<size_t> task_of(size_t agent, const TaskId& id) const;
  Result<Actions> on_started(size_t agent, ByteSpan payload);
  Result<Actions> on_start_failed(size_t agent, ByteSpan payload);
  Result<Actions> on_exited(size_t agent, ByteSpan payload);
  Result<Actions> on_port_taken(size_t agent, ByteSpan payload);
  Result<Actions> on_signalled(size_t agent, ByteSpan payload);
  Result<Actions> on_mpi_alone(size_t agent, ByteSpan payload);
  Result<Actions> on_finished(size_t agent, ByteSpan payload);
  void agent_lost(size_t agent, const std::string& why);
  std::optional<TaskError> error_of(size_t agent, const Exited& exited);
  void warn_of_mpi(const std::optional<std::string>& warning);
  void end_streams(size_t agent);
  bool awaits_output(size_t agent) const;
  void carry_out(const Actions& actions);
  void restart(size_t task, uint32_t attempt);
  void set_timer();
  void check_end();
  bool agents_stay() { return starts_again() || parts_.before_exit; }
  void send_input(size_t task, ByteSpan bytes);
  void ask_agent(size_t agent, const StatesWanted& wanted);
  Result<> on_states(size_t agent, ByteSpan payload);

  Dependencies parts_;
  Plan plan_;
  std::map<TaskId, size_t> task_indexes_;  ///< in Plan::tasks
  const RunConfig& config_;
  Supervisor supervisor_;
  FailureReporter failures_;
  StallReporter stalls_;
  RunningReporter running_;
  TaskInput input_;
  RelayEndpoints relays_;
  MpiNotice mpi_notice_;
  HostClocks clocks_;
  std::vector<bool> agent_done_;
  std::vector<PerWrittenStream<OutputStream>> output_streams_;  ///< by task
  size_t started_ = 0;
  bool launched_ = false;
  bool pause_wanted_ = false;  ///< by a signal before the launch
  OwnSweep sweep_;
  bool over_ = false;
  Timer timer_;
};

}  // namespace dt
