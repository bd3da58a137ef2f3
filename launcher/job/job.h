#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "launcher/config/config.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/status_line.h"
#include "launcher/console/task_input.h"
#include "launcher/console/task_output.h"
#include "launcher/job/host_clocks.h"
#include "launcher/job/launch_orders.h"
#include "launcher/job/mpi_notice.h"
#include "launcher/job/reach.h"
#include "launcher/job/supervisor.h"
#include "launcher/network/relay_endpoints.h"
#include "launcher/plan/plan.h"
#include "launcher/process/sweep.h"
#include "launcher/protocol/message.h"
#include "launcher/report/job_record.h"
#include "rendezvous/store/server.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A launched job: hands what agents say to the Supervisor, and carries out what it decides.
class Job {
 public:
  /// What it works with; all of it outlives the job.
  struct Parts {
    Loop& loop;
    AgentGroup& crew;
    RendezvousServer& rendezvous;
    TaskOutput& output;
    Log& log;
    JobRecord& record;
    StatusLine& status;
    std::function<void()> suspend;  ///< stops this process; returns when it goes on
    std::vector<pid_t> spared;      ///< children that we had before there was any agent
  };
  /// `start_deadline`: when the last task must have started.
  Job(Parts parts, Plan plan, const RunConfig& config, Time start_deadline);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Starts all tasks; when it fails, no agent has been sent anything.
  Result<> launch(const LaunchFacts& facts);
  /// Runs the loop until all has ended and all agents have finished.
  Result<> supervise();
  /// Waits until all agents are gone, for a while or until a signal means stop; ends the others.
  Result<> collect();
  /// A signal to dtrain.
  void signalled(int number);
  Outcome outcome() const { return supervisor_.outcome(); }

 private:
  std::optional<size_t> task_of(const TaskId& id) const;
  Result<> message(size_t agent, const FrameView& message);
  Result<Actions> decide(size_t agent, const FrameView& message);
  Result<> stream_message(size_t agent, const FrameView& message);
  void agent_lost(size_t agent, const std::string& why);
  std::optional<TaskError> error_of(size_t agent, const Exited& exited);
  Result<Actions> port_taken(size_t agent, const PortTaken& taken);
  void report_reason();
  Result<> mpi_looked(size_t agent, const MpiAlone& found);
  void tell_of_mpi(const std::optional<std::string>& warning);
  Result<Actions> agent_finished(size_t agent, const Finished& finished);
  void end_streams(size_t agent);
  void carry_out(const Actions& actions);
  void suspend();
  void report_failure();
  void set_timer();
  void check_end();
  void tell_ways(const std::string& host, const HostReach& reach);
  void send_input(size_t task, ByteSpan bytes);
  void sweep_own();

  Parts parts_;
  Plan plan_;
  std::map<TaskId, size_t> task_places_;  ///< in Plan::tasks
  const RunConfig& config_;
  Supervisor supervisor_;
  TaskInput input_;
  RelayEndpoints relays_;
  MpiNotice mpi_notice_;
  HostClocks clocks_;
  std::vector<bool> agent_done_;
  std::vector<uint32_t> credit_owed_;  ///< by task * 2 + stream: written, not yet granted again
  size_t started_ = 0;
  bool launched_ = false;
  bool pause_wanted_ = false;  ///< before there was anything to pause
  std::optional<Sweep> sweep_;
  bool must_sweep_ = false;
  bool swept_ = false;
  bool over_ = false;
  Timer timer_;
  Timer report_timer_;
};

}  // namespace dt
