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

/// Asks the hosts of a check, step by step, and goes on without those that fail; only an
/// interruption ends it. Each step needs those before it.
class CheckRunner {
 public:
  struct Terms {
    Duration step_max;                  ///< how long the answers to one step may take
    std::string path;                   ///< the PATH of a job
    std::vector<std::string> networks;  ///< between the hosts, as --network-interfaces has them
    std::optional<PortRange> port_range;
    Duration heartbeat;  ///< and when silence is death, as `crew` has them
    Duration dead_after;
  };
  CheckRunner(Runtime& stage, AgentGroup& crew, const std::vector<Host>& hosts, Terms terms);
  CheckRunner(const CheckRunner&) = delete;
  CheckRunner& operator=(const CheckRunner&) = delete;

  /// Hears which agents have come up.
  Result<> greet();
  /// Has each gather the facts of its host.
  Result<> diagnose();
  /// Has them dial each other and this machine.
  Result<> probe();
  /// Has pairs of them measure the way between them, several at a time.
  Result<> measure();

  /// A line for each machine that several of the hosts are.
  std::vector<std::string> shared() const;
  /// What was found, worst or not; when and how long is the caller's to tell.
  CheckReport report() const;

 private:
  AgentGroup::Awaited awaited() const;
  bool present(size_t host) const { return seen_[host].diagnosis.has_value(); }
  const DiagnoseReply& found(size_t host) const { return seen_[host].diagnosis->found; }
  void keep_reached(size_t from, const std::vector<ProbeTarget>& targets);
  /// The pair in a direction that leads there.
  std::optional<Pair> way_between(const Pair& pair) const;
  std::optional<Measure> order_for(const Pair& way) const;

  Runtime& stage_;
  AgentGroup& crew_;
  Terms terms_;
  std::vector<HostSeen> seen_;
  std::vector<std::optional<Hello>> hellos_;
  Token token_;
  std::map<Pair, PairSeen> pairs_;  ///< all that were dialled
};

}  // namespace dt
