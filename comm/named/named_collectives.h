#pragma once

#include "comm/group/collectives.h"
#include "comm/named/bucket.h"
#include "comm/named/late_steps.h"
#include "comm/named/name_coordinator.h"
#include "comm/named/named_calls.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The error of a second call of that name.
inline constexpr std::string_view name_is_pending =
    "an operation of that name is pending; wait for it, or give another name";

/// The named collectives of one group. They match by name, in any order on each rank, and hold up
/// neither each other nor the unnamed ones.
///
///   submitted ─ announced ▶ rank 0: all ranks have made the call ─ decision ▶ in a bucket ▶ done
///
/// The buckets are ordinary collectives, which all ranks make in the order of the decisions. They
/// have a lane of their own: Collectives with a group number that no user's group has.
///
/// A call with a CallAgreement ends by its decision, and takes no turn.
class NamedCollectives {
 public:
  /// Chooses the algorithm of a bucket.
  using Prepare = std::function<Result<>(const GroupPeers&, OperationRequest&)>;
  /// `lane` sees the members under the number of the lane.
  NamedCollectives(GroupPeers lane, Prepare prepare, std::shared_ptr<SharedArea> memory = nullptr);

  /// Fails the operation with Errc::input if one of that name is pending, or a join.
  void submit(std::shared_ptr<Operation> operation);
  bool is_pending(std::string_view name) const { return calls_.contains(hash_of_name(name)); }
  /// Returns true if anything moved or ended.
  bool step(Time now);
  Time next_deadline() const;
  bool idle() const {
    return calls_.undecided().empty() && turns_.empty() && calls_.all_announced();
  }
  /// True when steps may be decided without this rank, which then runs them.
  bool serves() const { return serves_ && !failed_; }
  const LateSteps::Counts& quorum_counts() const { return late_.counts(); }
  /// The failure of all calls from now on; none so far.
  const std::optional<OperationFailure>& failure() const { return failed_; }
  bool quiet() const { return idle() && lane_.quiet() && (failed_ || coordinator_.empty()); }
  /// Returns how many entries about calls are kept: those of this rank that have not ended. On rank
  /// 0 also those that it has not decided about.
  size_t entries() const;
  void fail_all(const OperationFailure& why);
  void leave();
  void add_waits(std::vector<PendingWait>& waits) const;
  /// Returns the job's ranks for which a pending operation waits now.
  std::vector<int> awaited(const Operation& operation) const;
  /// Returns the job's rank whose data or decision comes next, or -1.
  int data_from() const;
  /// Returns the label of the last operation that ended; empty for none.
  const std::string& last_label() const { return last_label_; }

  /// The collectives that run the buckets, for the frames of their group.
  Collectives& lane() { return lane_; }
  /// Rank 0 gets announcements, and all others decisions.
  Result<> announcement(const Message& message, ByteSpan payload, Time now);
  Result<> decision(const Message& message, ByteSpan payload);

 private:
  using Work = NamedCalls::Call;
  struct Turn {
    Bucket bucket;
    Work operation = nullptr;  ///< of the whole bucket; null while it waits for those before
    Work join = nullptr;       ///< ends behind it
    int last_joined = -1;      ///< the result of the join
    std::vector<int> participants = {};                      ///< of calls with a quorum
    std::vector<std::shared_ptr<std::byte[]>> carried = {};  ///< inputs of members
  };

  bool announce(Time now);
  bool decide(Time now);
  Result<> apply(const NameDecision& decision);
  Result<> queue(const NameDecision& decision);
  Result<> agree(const NameDecision& decision);
  Result<> end_join_behind_calls(int last);
  void finish_join(const Turn& turn);
  Work stand_in(const NameDecision& decision, uint64_t name, std::vector<LateCall>& late) const;
  bool deliver_late(const Work& operation);
  bool has_joined() const;
  bool fail_undecided();
  bool awaits_decisions() const;
  bool run(Time now);
  void start(Turn& turn, Time now);
  void finish(Turn& turn);
  void stop_overdue(Time now);
  void stop_late(Time now);
  Time limit_with_grace() const;
  void stop_without_lost(Time now);

  GroupPeers peers_;
  Collectives lane_;
  Prepare prepare_;
  NameCoordinator coordinator_;  ///< used by rank 0 only
  NamedCalls calls_;
  std::deque<Turn> turns_;
  WorkMemory fused_;  ///< of the first of them
  LateSteps late_;
  bool serves_ = false;             ///< a call with a quorum was made
  Time connects_at_ = Time::max();  ///< rank 0: when it connects with the ranks that it waits for
  std::string last_label_;
  uint64_t buckets_ = 0;                    ///< decided so far: the last one's number in the lane
  uint64_t nccl_buckets_ = 0;               ///< decided so far
  std::optional<OperationFailure> failed_;  ///< of all calls from now on, and the undecided ones
};

}  // namespace dt
