#pragma once

#include "comm/named/name_messages.h"
#include "comm/schedule/operation_request.h"

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace dt {

/// This rank's named calls that have not ended, by the hashes of their names. Also the calls that
/// rank 0 does not know yet.
///
///   add ▶ undecided ─ take ▶ ended
///             └─ decide, forget_undecided ▶ decided ─ end ▶ ended
class NamedCalls {
 public:
  using Call = std::shared_ptr<Operation>;

  void add(Call call);
  /// Adds a call that was decided without this rank, and has not ended.
  void add_late(const Call& call);
  bool contains(uint64_t name) const;
  /// Returns null if there is no undecided call of that name.
  Call undecided(uint64_t name) const;
  bool is_undecided(uint64_t name) const { return undecided_.contains(name); }
  const std::unordered_map<uint64_t, Call>& undecided() const { return undecided_; }

  /// Removes an undecided call, which will not run.
  Call take(uint64_t name);
  /// The call will run. It is undecided, too, until forget_undecided().
  void decide(uint64_t name) { decided_.insert(name); }
  /// Allocates nothing.
  void forget_undecided(uint64_t name) { undecided_.erase(name); }
  /// Removes a call that has run.
  void end(const Operation& call);
  void clear();

  /// Informs rank 0 of a call that was decided without this rank.
  void announce_late(NameArrival arrival) { unannounced_late_.push_back(std::move(arrival)); }
  /// Returns the calls that rank 0 does not know, once.
  std::vector<NameArrival> take_unannounced(Time now);
  void drop_unannounced();
  bool all_announced() const { return unannounced_.empty() && unannounced_late_.empty(); }

  /// Returns the first time limit of these calls; Time::max() for none.
  Time next_limit() const { return limits_.empty() ? Time::max() : limits_.begin()->first; }
  /// The call with that limit. Requires that there is one.
  const Operation& next_late() const { return *limits_.begin()->second; }
  /// Returns how many entries are kept.
  size_t entries() const;

 private:
  void add_limit(const Operation& call);

  std::unordered_map<uint64_t, Call> undecided_;
  std::unordered_set<uint64_t> decided_;
  std::set<std::pair<Time, const Operation*>> limits_;  ///< of all of these that have one
  std::vector<Call> unannounced_;
  std::vector<NameArrival> unannounced_late_;  ///< of calls that were decided without this rank
};

}  // namespace dt
