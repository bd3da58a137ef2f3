#pragma once

#include "base/clock.h"
#include "comm/collective/pending_wait.h"
#include "comm/driver/store_calls.h"
#include "comm/engine/engine.h"
#include "rendezvous/store/wire.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// Decides what this rank reports of its waits: the operations whose data has not moved for a time.
/// A call that makes a group is one, too, although it waits at the store.
/// The answer to a query also names the keys for which it waits at the store. A key may well come
/// late, so it makes no stall of its own: its wait has no length.
/// Times are monotonic. The clock of the running time stands still in a long sleep.
///
///   operation:  new ─ no data moved for `after`, or queried ▶ reported ─ data moved, or done ▶ new
class WaitReporter {
 public:
  /// Zero: it reports nothing.
  explicit WaitReporter(Duration after);

  /// This rank has waited for the members of a new group since then; none: it waits no more. The
  /// wait has no length of its own.
  void set_group_wait(std::optional<RankWait> wait, Time since);

  /// Called before the thread that drives the engine sleeps. Returns the report to be sent, which
  /// replaces the last one; none when nothing has changed. Allocates only when a report is due.
  std::optional<WaitReport> update(const Engine& engine, const StoreCalls& calls, Time now);
  /// The time of the next update(), even if the thread sleeps; Time::max() without a wait.
  Time next_update() const { return next_update_; }
  /// The next update() reports all waits, also short ones, and that there are none.
  void query() { queried_ = true; }
  /// True when an update() is needed at the end of an operation.
  bool must_update() const { return queried_ || reported_; }

 private:
  enum class Reported : uint8_t { nothing, while_short, all };
  struct Wait {
    PendingWait pending;
    uint64_t sequence = 0;  ///< this and `submitted` tell operations in the same memory apart
    Time submitted = {};
    Time since = {};
    Reported reported = Reported::nothing;
  };

  void find_waits(const Engine& engine, Time now);
  bool is_long(const Wait& wait, Time now) const { return now - wait.since >= after_; }
  WaitReport report(const Engine& engine, Time now);
  bool group_is_long(Time now) const { return group_wait_ && now - group_since_ >= after_; }
  void add_group(WaitReport& report, Time now);
  void add_keys(WaitReport& report, const StoreCalls& calls);

  Duration after_;
  std::vector<Wait> waits_;
  std::vector<Wait> last_waits_;
  std::vector<PendingWait> pending_;
  std::optional<RankWait> group_wait_ = {};
  Time group_since_ = {};
  Reported group_reported_ = Reported::nothing;  ///< in the last report
  Time next_update_ = Time::max();
  bool queried_ = false;
  bool reported_ = false;     ///< the last report had waits
  size_t keys_reported_ = 0;  ///< in the last report
};

}  // namespace dt
