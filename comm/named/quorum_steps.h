#pragma once

#include "comm/named/name_messages.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace dt {

/// Rank 0's count of the contributions to lists of tensors that wait for a quorum. Each call of a
/// list is a step. A rank has contributed when it has announced all parts of the list.
///
///   step ─ all ranks (the first step), the quorum, or those at the deadline ▶ decided
///
/// A rank that has not contributed is then one step behind. Its next announcements of that list
/// belong to the steps that were decided without it, the oldest first. A rank that is behind by the
/// maximum holds up the next step. So it never has more results to fetch.
class QuorumSteps {
 public:
  /// Beyond this number, the entries of lists that no rank is calling are erased. The next step of
  /// such a list waits for all ranks again.
  static constexpr size_t lists_max = 256;

  explicit QuorumSteps(size_t ranks) : ranks_(ranks) {}

  /// Takes the announcement of a part. Returns false when its step was decided without the rank.
  bool add(int rank, const NameArrival& arrival, Time now);

  struct Step {
    std::vector<uint64_t> names;     ///< of the parts
    std::vector<bool> participants;  ///< by rank
  };
  /// Returns the steps that are decided now. Ranks that have joined make no calls.
  std::vector<Step> decide(Time now, std::span<const int> joined);
  /// Drops a step that has failed for another reason.
  void forget(uint64_t list) { lists_.erase(list); }
  /// The time at which decide() must be called.
  Time next_deadline() const;
  /// Returns how many steps and late calls are open.
  size_t entries() const;

 private:
  struct List {
    Quorum quorum;
    uint32_t parts = 0;
    bool met = false;                  ///< all ranks have contributed to a step
    std::vector<uint64_t> names = {};  ///< of the open step
    std::vector<uint32_t> announced;   ///< by rank: parts of the open step
    std::vector<uint32_t> behind;      ///< by rank: steps that were decided without it
    std::vector<uint32_t> late = {};   ///< by rank: parts of the oldest of these
    Time first = Time::max();          ///< when the first rank had contributed
    bool overdue = false;              ///< its deadline has passed, and a rank is too far behind
  };

  bool is_idle(const List& list) const;
  bool is_decided(const List& list, Time now, std::span<const int> joined) const;
  static Step close(List& list, std::span<const int> joined);
  void make_room();

  size_t ranks_;
  std::map<uint64_t, List> lists_;
};

}  // namespace dt
