#pragma once

#include "base/clock.h"
#include "comm/group/collectives.h"
#include "comm/memory/area_pool.h"
#include "comm/named/named_collectives.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A group as this rank sees it. Collectives without a name run one at a time, in the order of
/// submission. Collectives that match by name run beside them.
class RankGroup {
 public:
  /// `place` is that of this rank's part in the memory of the group; -1: none.
  RankGroup(GroupPeers peers, AreaPool::Areas areas, int place);

  const GroupPeers& peers() const { return collectives_.peers(); }
  int place() const { return place_; }
  /// True while the engine steps it.
  bool active() const { return active_; }
  void set_active(bool active) { active_ = active; }
  Collectives& collectives() { return collectives_; }
  const Collectives& collectives() const { return collectives_; }
  /// Null until use_named().
  NamedCollectives* named() { return named_.get(); }
  const NamedCollectives* named() const { return named_.get(); }
  /// `lane` sees the members under the number of the lane.
  NamedCollectives& use_named(GroupPeers lane, NamedCollectives::Prepare prepare);

  /// True for collectives that match by name. A rank alone matches its own call at once.
  bool by_name(const OperationRequest& request) const {
    return matches_by_name(request) && peers().size() > 1;
  }
  /// True for collectives of ranks that share memory.
  bool needs_no_frames(const OperationRequest& request) const {
    return is_collective(request.kind) && !by_name(request) && collectives_.has_memory();
  }
  /// Returns a number for the name of an unnamed call of several tensors.
  uint64_t take_list() { return ++lists_; }
  /// True when a collective of that name is pending.
  bool is_pending(const OperationRequest& request) const {
    return named_ && named_->is_pending(request.name);
  }
  LateSteps::Counts quorum_counts() const {
    return named_ ? named_->quorum_counts() : LateSteps::Counts();
  }
  /// The failure of all calls by name from now on; none so far.
  std::optional<OperationFailure> failed_by_name() const {
    return named_ ? named_->failure() : std::nullopt;
  }

  /// Returns true if anything moved or ended.
  bool step(Time now);
  Time next_deadline() const;
  bool idle() const { return collectives_.idle() && (!named_ || named_->idle()); }
  /// True when no step is needed until the next submission or message.
  bool quiet() const { return collectives_.quiet() && (!named_ || named_->quiet()); }
  void fail_all(const OperationFailure& why);

  void add_waits(std::vector<PendingWait>& waits) const;
  // A thread may ask about its call before that is submitted.
  /// Returns the job's ranks for which the operation waits now.
  std::vector<int> awaited(const Operation& operation) const;
  /// Returns the job's rank whose data it waits for, or -1.
  int data_from(const Operation& operation) const;
  /// Returns the label of the last collective before it; empty for none.
  std::string last_before(const Operation& operation) const;

 private:
  /// Null for an operation that does not match by name.
  const NamedCollectives* named_of(const Operation& operation) const {
    return by_name(operation.request) ? named_.get() : nullptr;
  }

  Collectives collectives_;
  std::shared_ptr<SharedArea> named_memory_;
  int place_;
  std::unique_ptr<NamedCollectives> named_ = nullptr;
  uint64_t lists_ = 0;  ///< unnamed calls of several tensors
  bool active_ = false;
};

}  // namespace dt
