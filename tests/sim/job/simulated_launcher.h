#pragma once

#include "base/io/log.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/console.h"
#include "launcher/job/generations/restart_policy.h"
#include "launcher/job/job.h"
#include "launcher/job/prepare_again.h"
#include "launcher/job/start/reach.h"
#include "rendezvous/secure/handshake.h"
#include "tests/sim/job/scenario.h"
#include "tests/sim/job/virtual_loop.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace dt {

/// `dtrain run` with a simulated terminal and simulated signals. Its steps are those of
/// launcher/job/run.cc, without those that touch this machine: the listeners of the probe and held
/// ports. Its code is real otherwise, see JobWorld.
class SimulatedLauncher {
 public:
  struct Handlers {
    std::function<void(Phase)> on_phase;
    std::function<void(std::string_view line)> on_log;
    /// The reader of the terminal has received these.
    std::function<void(std::string_view bytes)> on_shown;
    /// Called after Ctrl-Z, when all agents have reported that their tasks are stopped.
    std::function<void()> on_suspended;
    std::function<Result<SpawnedProcess>(const Host&)> log_in;
    std::function<Result<SpawnedProcess>()> start_agents;
    VirtualLoop::Idle idle;
  };
  SimulatedLauncher(const VirtualTime& time, const Scenario& scenario, Handlers handlers);
  SimulatedLauncher(const SimulatedLauncher&) = delete;
  SimulatedLauncher& operator=(const SimulatedLauncher&) = delete;

  /// `noise`: as in ConnectOptions.
  void run(uint64_t noise);
  bool ended() const { return outcome_.has_value(); }
  /// Requires ended().
  const Outcome& outcome() const { return *outcome_; }
  const Plan& plan() const { return record_.plan; }
  const JobRecord& record() const { return record_; }
  VirtualLoop& loop() { return *loop_; }
  /// With the job's token.
  Claim claim_of(const TaskId& task) const;

  void signalled(int number);
  /// Dials the rendezvous. The connection waits while dtrain is stopped, as in the queue of a
  /// listener.
  void dial(Fd connection);
  /// Dials the port of the agents, in the same way.
  void dial_as_agent(Fd connection);
  /// Reads from the terminal; false when nothing is there.
  bool read_terminal();

 private:
  Result<Outcome> run_job(uint64_t noise);
  GatheringParts gathering_parts(AgentGroup& agents);
  void read_hosts(const OnHostsRead& on_read);
  AgentGroup::Awaited awaited();
  Result<> plan_job(const GatheringParts& parts);
  Result<Outcome> prepare_job(const GatheringParts& gathering, StatusLine& status);
  Result<Outcome> run_generations(const RestartParts& parts, StatusLine& status);
  Result<Outcome> run_generation(const RestartParts& parts, StatusLine& status,
                                 const RestartPolicy& restarts);
  AgentGroup::Options agent_options(uint64_t noise);
  Result<Reach> probe(AgentGroup& agents, const Plan& plan, const std::vector<Prepared>& prepared,
                      const AgentGroup::Awaited& until);

  /// The same as Runtime::SignalHandlerScope: while it lives the job receives the signals.
  class SignalHandlerScope {
   public:
    SignalHandlerScope(SimulatedLauncher& launcher, Job& job);
    SignalHandlerScope(const SignalHandlerScope&) = delete;
    SignalHandlerScope& operator=(const SignalHandlerScope&) = delete;
    ~SignalHandlerScope();

   private:
    SimulatedLauncher& launcher_;
  };

  const Scenario& scenario_;
  Handlers handlers_;
  std::unique_ptr<VirtualLoop> loop_;
  Pipe terminal_;
  Log log_;
  Console console_;
  JobRecord record_;
  JobGeneration generation_;
  size_t reads_ = 0;  ///< readings of the hosts' source
  Timer reading_;
  RendezvousServer* rendezvous_ = nullptr;
  AgentGroup* agents_ = nullptr;
  std::vector<Timer> dials_;
  Job* job_ = nullptr;
  bool starts_again_ = false;  ///< after the generation that has ended
  Duration lived_ = {};        ///< of that, until it was asked whether the job starts again
  int interrupted_ = 0;
  bool pause_wanted_ = false;
  std::optional<Outcome> outcome_;
};

}  // namespace dt
