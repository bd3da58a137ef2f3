#pragma once

#include "tests/sim/job/judge.h"
#include "tests/sim/job/simulated_launcher.h"
#include "tests/sim/job/troubles.h"

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
/// processes (simulated_host.h, simulated_task.h, member.h), the terminal and signals
/// (simulated_launcher.h). The troubles of the scenario come from outside (troubles.h).
class JobWorld {
 public:
  /// `name`: how to repeat the run, for complaints.
  JobWorld(const std::string& name, Random random, Scenario scenario);
  JobWorld(const JobWorld&) = delete;
  JobWorld& operator=(const JobWorld&) = delete;

  /// `what` is called when all tasks have passed their first barrier.
  void when_joined(std::function<void()> what) { when_joined_ = std::move(what); }
  void run();
  Judge& judge() { return judge_; }
  const Outcome& outcome() const { return launcher_->outcome(); }
  const JobRecord& record() const { return launcher_->record(); }
  /// The time from the start until all tasks had passed their first barrier, if they did.
  std::optional<Duration> joined_after() const { return joined_after_; }

 private:
  size_t newest(const std::string& name) const;
  SimulatedHost& host_named(const std::string& name);
  SimulatedHost& host_to_log_in(const std::string& name);
  bool hosts_moved() const;
  bool idle(Time until);
  void pass(Duration time);
  /// Stops dtrain for so long, while the rest of the world continues.
  void stand_still(Duration time);
  void suspended();

  SimulatedLauncher::Handlers launcher_handlers();
  void start_agents(const DialOrder& order);
  SimulatedHost::Handlers handlers_of(size_t host);
  void reached(Phase phase);
  void called(const TaskId& task);
  std::vector<int32_t> not_called() const;
  int rank_of(const TaskId& task) const;
  void task_exited(const SimulatedHost::Running& running, const ExitStatus& status,
                   std::optional<Time> arrives);
  bool is_cut_off(const TaskId& id) const;
  void death_known(const Judge::Attempt& dead, Time known);
  void note(const std::string& event) { judge_.note(time_.now, event); }

  Random random_;
  Scenario scenario_;
  Judge judge_;
  VirtualTime time_;
  Time began_;
  std::unique_ptr<VirtualLoop> far_;  ///< of all hosts
  std::optional<SimulatedLauncher> launcher_;
  std::optional<Site> site_;
  /// First all of the scenario, then those on which the launcher has started one more agent.
  std::vector<std::unique_ptr<SimulatedHost>> hosts_;
  std::vector<std::string> names_;  ///< of `hosts_`
  std::optional<SimulatedStarter> starter_;
  size_t hellos_ = 0;
  size_t ended_agents_ = 0;
  std::optional<Troubles> troubles_;
  std::vector<Timer> checks_;
  uint64_t idle_calls_ = 0;
  size_t past_barrier_ = 0;
  std::set<int> called_;  ///< the ranks that have called the collective
  std::optional<Duration> joined_after_;
  std::function<void()> when_joined_;
};

}  // namespace dt
