#pragma once

#include "base/crypto.h"
#include "launcher/check/check_report.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/runtime.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Diagnoses the hosts of a check in steps, in the order of the methods. A host that fails is left
/// out of the later steps. A step itself fails only by an interruption, or when this machine cannot
/// do its part.
class CheckRunner {
 public:
  struct Terms {
    Duration step_max;                  ///< the limit of one step
    std::string path;                   ///< the PATH of a job
    std::string cwd;                    ///< the folder of a job
    Environment forwarded;              ///< the launcher's variables that a job gets
    std::string command;                ///< of a job; empty: none
    std::vector<std::string> files;     ///< words of its command that are files here
    std::vector<std::string> imports;   ///< modules that Python shall import
    std::vector<std::string> networks;  ///< the value of --network-interfaces; none: all
    std::optional<PortRange> port_range;
    Duration heartbeat;   ///< the same as in the options of `agents`
    Duration dead_after;  ///< the same as in the options of `agents`
    Duration local_dead_after;
  };
  CheckRunner(Runtime& runtime, AgentGroup& agents, const std::vector<Host>& hosts, Terms terms);
  CheckRunner(const CheckRunner&) = delete;
  CheckRunner& operator=(const CheckRunner&) = delete;

  /// Waits for the hello of each agent.
  Result<> await_hellos();
  /// Has each agent gather the facts of its host.
  Result<> diagnose();
  /// Has the agents dial each other and this machine.
  Result<> probe();
  /// Has pairs of agents measure the network between them, several pairs at a time.
  Result<> measure();

  /// One warning for each machine that several hosts of the check stand for.
  std::vector<std::string> shared() const;
  /// All findings. The caller sets began_at and took.
  CheckReport report() const;

 private:
  AgentGroup::Awaited awaited() const;
  bool present(size_t host) const { return seen_[host].diagnosis.has_value(); }
  const DiagnoseReply& found(size_t host) const { return seen_[host].diagnosis->found; }
  void record_reached(size_t from, const std::vector<ProbeTarget>& targets);
  /// The pair, or its reverse, whose first host reached the second; none when neither did.
  std::optional<Pair> working_direction(const Pair& pair) const;
  std::optional<Measure> order_for(const Pair& direction) const;

  Runtime& runtime_;
  AgentGroup& agents_;
  Terms terms_;
  std::vector<HostSeen> seen_;
  std::vector<std::optional<Hello>> hellos_;
  Token token_;
  std::map<Pair, PairSeen> pairs_;  ///< every pair that was dialed
};

}  // namespace dt
