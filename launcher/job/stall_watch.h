#pragma once

#include "base/clock.h"
#include "launcher/report/stall_record.h"
#include "rendezvous/store/wire.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace dt {

/// Makes one record of what the ranks report of a stall. Ranks report long waits; then all are
/// asked, so that a rank that does not answer is in no call. No I/O, no clock.
///
///   quiet ─ a long wait ▶ gathering ─ time ▶ inspecting ─ states, or time ▶ open ─ no rank waits
///     ▲        (query)                (inspect)                 (began)            in it any more
///     └──────────────────┴───────────────────────┴───────────────────────────────────┘ (ended)
class StallWatch {
 public:
  /// The time for ranks to answer the query, and then the time for agents to answer.
  static constexpr Duration gathering_time = milliseconds(500);
  static constexpr Duration inspecting_time = seconds(1);

  struct Steps {
    bool query = false;                     ///< ask all ranks for their waits
    std::vector<int> inspect = {};          ///< ask for the states of these ranks' processes
    std::optional<StallRecord> began = {};  ///< log this stall
    std::optional<StallRecord> ended = {};  ///< log the end of the stall that began last
  };

  /// `after`: how long ranks wait before they report it.
  explicit StallWatch(Duration after) : after_(after) {}

  /// Called with the report of a rank, which replaces its last one.
  Steps reported(int rank, WaitReport report, Time now);
  /// Called with the states of processes of Steps::inspect.
  Steps inspected(const std::map<int, ProcessState>& states, Time now);
  Steps rank_ended(int rank, Time now);
  Steps tick(Time now);
  Time next_deadline() const { return deadline_; }

 private:
  enum class Phase { quiet, gathering, inspecting, open };
  struct Report {
    WaitReport waits;
    Time arrived;
  };
  /// The operation of the stall.
  using Key = std::pair<uint32_t, std::string>;

  static Key key_of(const RankWait& wait) { return {wait.group, wait.operation}; }
  const RankWait* wait_of(int rank) const;
  Steps update(Time now);
  bool find_stall(Time now);
  void make_record(Time now);
  void follow(int rank, std::vector<int>& todo);
  Steps open();
  void become(Phase phase, Time deadline);

  Duration after_;
  Phase phase_ = Phase::quiet;
  Time deadline_ = Time::max();
  Time queried_ = {};
  std::map<int, Report> reports_;  ///< by rank
  Key key_;
  StallRecord record_;
};

}  // namespace dt
