#pragma once

#include "base/io/log.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/console.h"
#include "launcher/environment/job_facts.h"
#include "launcher/job/job.h"
#include "launcher/job/prepare.h"
#include "launcher/job/rendezvous.h"
#include "tests/sim/job/judge.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dt {

/// A whole job in virtual time.
///
/// The launcher is real: plan, AgentGroup, AgentLink with its retries, AgentStart and Lease. So are
/// the orders of Prepare and Launch, Job, Supervisor and TaskOutput. So is the rendezvous with its
/// handshakes, store and notices. The code for networks encodes and decodes all frames. It runs on
/// pairs of sockets, since the kernel is deterministic there. The time of the loop is simulated.
///
/// The network is a model (cable.h: latency, bandwidth, outages). So are hosts with sshd, agent and
/// processes (simulated_host.h, simulated_task.h, member.h), the terminal and signals.
/// JobWorld::run_job repeats the steps of launcher/job/run.cc, without those that touch this
/// machine: the listeners of the probe and held ports.
class JobWorld {
 public:
  /// `name`: how to repeat the run, for complaints.
  JobWorld(const std::string& name, Random random, Scenario scenario);
  JobWorld(const JobWorld&) = delete;
  JobWorld& operator=(const JobWorld&) = delete;
  ~JobWorld();

  /// `what` is called when all tasks have passed their first barrier.
  void when_joined(std::function<void()> what) { when_joined_ = std::move(what); }
  void run();
  Judge& judge() { return judge_; }
  const Outcome& outcome() const { return outcome_; }
  const JobRecord& record() const { return record_; }
  /// The time from the start until all tasks had passed their first barrier, if they did.
  std::optional<Duration> joined_after() const { return joined_after_; }

 private:
  Result<Outcome> run_job();
  Result<Reach> probe(AgentGroup& agents, const std::vector<Prepared>& prepared,
                      const AgentGroup::Awaited& answers);
  AgentGroup::Options agent_options();
  SimulatedHost& host_named(const std::string& name);
  bool idle(Time until);
  void pass(Duration time);
  /// Stops dtrain for so long, while the rest of the world continues.
  void stand_still(Duration time);
  void suspended();
  bool read_console();

  SimulatedHost::Handlers handlers_of(size_t host);
  void reached(Phase phase);
  void strike(const Trouble& trouble);
  void strike_host(const Trouble& trouble);
  void signalled(int number);
  void dial(Fd connection);
  void claim_again(const TaskId& task);
  void knock();
  void kill_agent(SimulatedHost& host);
  void called(const TaskId& task);
  std::vector<int32_t> not_called() const;
  int rank_of(const TaskId& task) const;
  void task_exited(const SimulatedHost::Running& running, const ExitStatus& status,
                   std::optional<Time> arrives);
  bool is_cut_off(const TaskId& id) const;
  void death_known(const Judge::Attempt& dead, Time known);
  void note(const std::string& event) { judge_.note(time_.now, event); }

  /// The same as Runtime::SignalHandlerScope: while it lives the job receives the signals.
  class SignalHandlerScope {
   public:
    SignalHandlerScope(JobWorld& world, Job& job);
    SignalHandlerScope(const SignalHandlerScope&) = delete;
    SignalHandlerScope& operator=(const SignalHandlerScope&) = delete;
    ~SignalHandlerScope();

   private:
    JobWorld& world_;
  };

  Random random_;
  Scenario scenario_;
  Judge judge_;
  VirtualTime time_;
  Time began_;
  std::unique_ptr<VirtualLoop> far_;   ///< of all hosts
  std::unique_ptr<VirtualLoop> near_;  ///< of dtrain
  std::optional<Site> site_;
  std::vector<std::unique_ptr<SimulatedHost>> hosts_;
  Log log_;
  Pipe terminal_;  ///< read whenever dtrain has nothing to do
  Console console_;

  Plan plan_;
  JobRecord record_;
  Token token_;
  std::string job_name_;
  RendezvousServer* rendezvous_ = nullptr;
  Job* job_ = nullptr;
  int interrupted_ = 0;
  bool pause_wanted_ = false;
  Duration pause_lasts_ = seconds(1);
  Time outage_until_ = {};      ///< of the last outage
  Duration stood_still_ = {};   ///< the sum of all freezes
  Duration slowest_ = {};       ///< the largest latency to a host
  std::set<size_t> disturbed_;  ///< hosts whose network was disturbed
  std::array<bool, phases> reached_ = {};
  std::vector<Timer> timers_;
  std::vector<std::unique_ptr<Cable>> knocking_;
  std::vector<std::unique_ptr<Member>> impostors_;
  std::vector<Timer> checks_;
  uint64_t idle_calls_ = 0;
  size_t past_barrier_ = 0;
  std::set<int> called_;  ///< the ranks that have called the collective
  std::optional<Duration> joined_after_;
  std::function<void()> when_joined_;
  bool over_ = false;
  Outcome outcome_;
};

}  // namespace dt
