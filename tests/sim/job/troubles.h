#pragma once

#include "tests/sim/job/judge.h"
#include "tests/sim/job/member.h"
#include "tests/sim/job/scenario.h"
#include "tests/sim/job/simulated_launcher.h"

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <vector>

namespace dt {

/// Causes the troubles of a scenario, and informs the judge how the job may end for them.
class Troubles {
 public:
  /// All of them must outlive this object.
  struct World {
    const Scenario& scenario;
    Site& site;
    const std::vector<std::unique_ptr<SimulatedHost>>& hosts;
    SimulatedLauncher& launcher;
    Judge& judge;
    /// Stops dtrain for so long, while the rest of the world continues.
    std::function<void(Duration)> stand_still;
    /// The launcher knows at once that this attempt has died.
    std::function<void(const Judge::Attempt&)> on_death;
  };
  explicit Troubles(World world);
  Troubles(const Troubles&) = delete;
  Troubles& operator=(const Troubles&) = delete;

  /// The job has come so far; later calls for the same phase have no effect.
  void reached(Phase phase);
  /// The job has ended: no trouble begins any more.
  void end() { timers_.clear(); }

  /// How long dtrain is stopped after Ctrl-Z.
  Duration pause_lasts() const { return pause_lasts_; }
  /// The largest latency to a host so far.
  Duration slowest() const { return slowest_; }
  /// The end of the last outage so far.
  Time outage_until() const { return outage_until_; }

 private:
  void strike(const Trouble& trouble);
  void strike_host(const Trouble& trouble);
  void cut_for(SimulatedHost& host, Duration time);
  void kill_agent(SimulatedHost& host);
  void claim_again(const TaskId& task);
  void knock();
  void note(const std::string& event) { world_.judge.note(world_.site.loop.now(), event); }

  World world_;
  Duration pause_lasts_ = seconds(1);
  Duration slowest_ = {};
  Time outage_until_ = {};
  Duration stood_still_ = {};   ///< the sum of all freezes
  std::set<size_t> disturbed_;  ///< hosts whose network was disturbed
  std::array<bool, phases> reached_ = {};
  std::vector<Timer> timers_;
  std::vector<std::unique_ptr<Cable>> knocking_;
  std::vector<std::unique_ptr<Member>> impostors_;
};

}  // namespace dt
