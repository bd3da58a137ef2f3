#pragma once

#include "comm/named/list_lengths.h"
#include "comm/named/name_messages.h"
#include "comm/named/quorum_steps.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt {

/// The most data of calls that are fused, in all engines.
inline constexpr size_t bucket_bytes_max = size_t{1} << 20;

/// Rank 0's side of the matching of named collectives in a group. It collects which ranks have made
/// which call, in any order. A call that all have made is run, with others that it can be fused
/// with. A call that a rank has not made holds up no other, except the parts of its own list. Lists
/// of one name and of different lengths fail as a mismatch when every rank has made one.
///
/// A rank that joins makes no new calls until all have joined. Reductions need no call of it.
///
/// Calls that move no data get a route, the least that a rank wishes. NCCL needs the data of all
/// ranks, so that it runs none without those that have joined. Where the engine runs the call,
/// its ranks announce it again, with its data: also ranks that have joined since. A join ends
/// behind these calls.
class NameCoordinator {
 public:
  struct Options {
    std::vector<int> job_ranks;                 ///< the job's rank of each member
    NameOfRank name_of_rank = {};               ///< of a rank of the group, for messages
    size_t bucket_bytes = bucket_bytes_max;     ///< the most data of calls that are fused
    size_t fused_bytes_max = size_t{64} << 10;  ///< larger calls are run alone
  };
  explicit NameCoordinator(Options options)
      : options_(std::move(options)),
        lengths_(options_.job_ranks.size()),
        quorums_(options_.job_ranks.size()) {}

  /// Takes the announcement of a rank. Fails with Errc::protocol when the rank has announced that
  /// name already, and rank 0 has not decided about it since.
  Result<> add(int rank, NameArrival arrival, Time now);
  /// Decides about lists that wait for a quorum. The next decide() returns the calls that run.
  void decide_quorums(Time now);
  /// Returns the decisions about the calls that all ranks have announced since the last call. They
  /// are in the order of their priorities on rank 0. A call that rank 0 has not made has priority
  /// 0.
  std::vector<NameDecision> decide();
  /// Called while no decided call runs. When every rank has blocked in a call for a second, no call
  /// is left that all could make. Then these calls fail as a mismatch.
  std::vector<NameDecision> deadlock(Time now);
  /// True when nothing is announced or undecided.
  bool empty() const {
    return pending_.empty() && complete_.empty() && lists_.empty() && !all_joined_;
  }

  /// Returns how many entries about calls and joins are kept.
  size_t entries() const;

  /// A call with a time limit that has ended before all ranks have made it.
  struct Overdue {
    Descriptor descriptor;
    Duration timeout;
    std::vector<int> missing;  ///< ranks of the group
  };
  std::optional<Overdue> overdue(Time now) const;
  /// The time when overdue() or deadlock() may be something.
  Time next_deadline() const;
  /// True for a rank that has not made a call that others have made.
  bool waits_for(int rank) const;
  /// Returns the ranks of the group that have not announced the name; none for a name that nobody
  /// has announced.
  std::vector<int> missing(uint64_t name) const;

 private:
  struct Pending {
    Descriptor first;                          ///< of the first rank to announce it
    std::map<int, Descriptor> differing = {};  ///< by rank
    std::vector<bool> arrived = {};
    size_t arrivals = 0;
    ListPart part_of = {};
    int priority = 0;                     ///< of rank 0's call
    Duration timeout = Duration::zero();  ///< that ends first
    Time deadline = Time::max();
    std::optional<DeviceRoute> route = {};  ///< the least wish so far; none: it moves data
    bool of_unnamed = false;                ///< as in CallAgreement
    uint64_t before = 0;                    ///< likewise, of the first rank to announce it
  };

  /// A call that all ranks have made. It can be run, or has failed.
  struct Complete {
    Descriptor call;
    bool for_joined = false;              ///< ranks that have joined have not made it
    int average_over = 0;                 ///< as in NameDecision
    std::vector<bool> participants = {};  ///< as in NameDecision
    int priority = 0;
    std::optional<OperationFailure> failure = {};
    std::optional<DeviceRoute> route = {};  ///< as in NameDecision
    std::vector<bool> announce_data = {};   ///< the ranks that announce it again; empty: none
  };

  bool has_joined(int rank) const;
  /// True when the call needs no announcement of the rank.
  bool is_excused(int rank, const Pending& pending) const;
  /// The ranks that have joined and have not made the call.
  std::vector<int> joined_without(const Pending& pending) const;
  void join(int rank);
  void complete_join();
  /// True when the rank has not yet announced a call with the data that is expected of it.
  bool owes_data(int rank) const;
  bool is_complete(const Pending& pending) const;
  void complete(uint64_t name, Pending& pending);
  Complete completed(Pending& pending);
  Complete compared(Pending& pending);
  Complete completed_without(const std::vector<int>& joined, Pending& pending);
  void finish(const ListPart& part_of, Complete complete);
  void release(std::vector<Complete> together);
  std::optional<OperationFailure> mismatch(const Pending& pending) const;
  void close_step(const QuorumSteps::Step& step);
  void forget_blocked(uint64_t name);
  void fail_lists(const std::vector<uint64_t>& lists);
  std::vector<NameDecision> fail_together(const std::set<uint64_t>& names,
                                          const Mismatch& mismatch);
  bool can_be_fused(const Descriptor& descriptor) const;
  std::vector<int> job_ranks_of(std::vector<int> ranks) const;

  Options options_;
  std::unordered_map<uint64_t, Pending> pending_;  ///< by the hash of the name
  std::set<std::pair<Time, uint64_t>> limits_;     ///< the time limits of pending_
  std::map<int, std::set<uint64_t>> blocked_;      ///< the names of calls in which a rank blocks
  Time deadlock_at_ = Time::max();                 ///< when all ranks have blocked for long enough
  std::vector<Complete> complete_;  ///< by priority, then in the order of the last rank
  std::map<uint64_t, std::vector<Complete>> lists_;  ///< whose other parts are pending
  ListLengths lengths_;
  QuorumSteps quorums_;
  std::vector<NameDecision> failed_;
  std::vector<int> joined_;  ///< in the order in which they joined
  /// The ranks that will announce a call with its data, by the hash of its name.
  std::unordered_map<uint64_t, std::vector<bool>> expected_;
  std::optional<NameDecision> all_joined_;
};

}  // namespace dt
