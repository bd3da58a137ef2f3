#pragma once

#include "base/clock.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/connect/agent_group.h"
#include "launcher/job/generations/host_cooldown.h"
#include "launcher/job/generations/next_plan.h"
#include "launcher/job/host_reading.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The hosts of a job beside those of its plan, from one generation to the next.
struct HostHistory {
  std::vector<Host> lost = {};  ///< that the plan does not use, the first lost first
  std::map<std::string, Time> lost_since = {};  ///< by name
  /// By the last good reading of their source; none: it was not read again.
  std::optional<std::vector<Host>> named = {};
  std::optional<HostCooldown> cooldown = {};  ///< none: a failure excludes no host
};

/// The parts of a launcher that a gathering needs.
struct GatheringParts {
  Loop& loop;
  AgentGroup& agents;
  Log& log;
  const RunConfig& config;
  std::function<bool()> interrupted;
  ReadHosts read_hosts = {};                  ///< empty: the hosts do not change
  ResourceNeed need = ResourceNeed::nothing;  ///< of hosts with known slots
};

/// Gathers the hosts of a generation, and plans its tasks on them. Agents are those of the plan's
/// hosts, by number.
///
/// A job of a fixed size waits for --start-timeout until each place has a host: its own, a spare,
/// or one that was lost earlier. A job whose size follows its hosts waits so long for hosts that it
/// has just lost, then does without them. With too few slots it waits for --elastic-timeout.
class Gathering {
 public:
  /// All of these outlive it. A plan without tasks is that of a job's first start: its hosts are
  /// the candidates.
  Gathering(const GatheringParts& parts, Plan& plan, HostHistory& history, Time time_limit);

  /// Plans the tasks on the hosts that are there now. Fails as make_plan() does.
  Result<> plan_now();
  /// The last plan_now(), without its plan and its lost hosts.
  const NextPlan& planned() const { return now_; }
  /// Keeps a host on which a task has failed out, as --blacklist-cooldown-range has it. `random`
  /// is of 0 to 1.
  void keep_out(const std::string& host, double random);
  /// Tries hosts that were lost. Their agents start while the caller waits.
  Result<> try_lost_hosts();
  /// Waits until each agent of the plan is connected, and the plan has tasks. Fails with
  /// Errc::unreachable when hosts are missing for too long, as wait(), and as make_plan().
  Result<> gather();
  /// True if the last tries have failed for so long that another one is in vain.
  bool is_late(int tries) const;
  /// True for a host with tasks that took a place in this restart, or returned.
  bool is_fresh(size_t agent) const;
  /// Takes fresh hosts out of this generation: those that cannot start their tasks, for the reasons
  /// `why` by agent; empty reasons count as none. Returns true if there was one.
  bool give_way(const std::vector<std::string>& why);
  /// Runs the loop until this time. Fails with Errc::interrupted after a signal that means stop,
  /// and with Errc::timeout at the time limit of the job.
  Result<> wait(Time until) {
    return wait(until, [] { return false; });
  }
  /// Returns "\nNAME: WHY" for each host that failed, or is kept out.
  std::string failures_text() const;

 private:
  /// The hosts or slots that a gathering waits for.
  struct Awaited {
    Time until;
    std::string text;      ///< for the user; may be empty
    bool required = true;  ///< false: the job can do without
    bool in_vain = false;  ///< nothing can come
  };
  /// A host in this gathering.
  struct Known {
    size_t order = 0;      ///< by which the job has named or used it
    bool last = false;     ///< it had tasks in the last generation
    bool tried = false;    ///< its agent was started
    bool fresh = false;    ///< it took a place, or returned
    std::string why = {};  ///< it was lost
    std::optional<Time> gave_way = {};
  };

  Result<> wait(Time until, const std::function<bool()>& is_over);
  bool is_sized() const { return parts_.config.restarts.size.has_value(); }
  Known& known(const std::string& name);
  const Known* find_known(const std::string& name) const;
  bool was_last(const Host& host) const;
  void use_named(std::vector<Host> named);
  void leave_out(size_t agent, const std::string& why);
  Host* find_host(const Host& wanted);
  bool may_use(const Host& host) const;
  bool may_add(const Host& host) const { return may_use(host) && parts_.agents.can_add(host); }
  bool is_out(const Host& host) const;
  void note_losses();
  Result<> find_slots();
  Result<NextPlan> next();
  bool may_return() const;
  bool precedes_tasks(const Host& host) const;
  std::optional<Awaited> awaited() const;
  std::optional<Awaited> awaited_places() const;
  std::optional<Awaited> awaited_slots() const;
  std::string lost_hosts_text(const std::vector<std::string>& names) const;
  std::string slots_text() const;
  Error missing(const Awaited& awaited) const;
  Result<> add(Host host);
  Result<> try_for_places();
  Result<> try_for_slots();
  void leave_connecting_hosts();

  const GatheringParts& parts_;
  Plan& plan_;
  HostHistory& history_;
  Time time_limit_;
  bool is_first_;  ///< no generation has run yet
  Time first_began_;
  Time began_;
  NextPlan now_;                        ///< without its plan and its lost hosts, taken over
  std::map<std::string, Known> known_;  ///< by name
  HostReading reading_;
};

}  // namespace dt
