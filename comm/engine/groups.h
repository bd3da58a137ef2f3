#pragma once

#include "base/bytes.h"
#include "comm/collective/messages.h"
#include "comm/engine/group_members.h"
#include "comm/engine/rank_group.h"
#include "comm/memory/area_pool.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// The error of a call for which there is no number left.
inline constexpr std::string_view no_more_groups =
    "this job has made 524,287 groups already, and no more are possible";

/// The groups of an engine, each with its own sequence of collectives. Group 0 has all ranks of the
/// job. The members of a group agree on its number before they create it. So the number is new to
/// all of them. A step costs what the groups with pending operations cost, not what all groups do.
class Groups {
 public:
  /// The numbers of users' groups are lower. Their lanes for named collectives have the others.
  static constexpr uint32_t numbers_max = GroupPeers::groups_max / 2;

  /// Chooses the algorithm of a collective that the engine itself makes.
  using Prepare = NamedCollectives::Prepare;
  /// The memory of the ranks on this rank's host; null if there is no other.
  struct Memory {
    bool on_hosts = false;  ///< the ranks of each host share memory
    std::shared_ptr<SharedArea> unnamed;
    std::shared_ptr<SharedArea> named;
    std::shared_ptr<AreaPool> pool;  ///< for groups; may be null
  };
  Groups(Peers& peers, Memory memory, Prepare prepare);

  /// The lowest number that is new to this rank. The members of a new group use the highest of
  /// theirs.
  uint32_t next_number() const { return next_number_; }
  /// Reserves this rank's part in the memory of a new group, and returns its place; -1: none.
  /// Members exchange the places, as they do the numbers.
  int reserve_place() { return pool_ ? pool_->reserve() : -1; }
  /// For a place that no group got.
  void release_place(int place) {
    if (place >= 0) pool_->release(place);
  }
  /// `members` has the job's rank of each member, in the order of their ranks in the group. It also
  /// has the places of all. Requires a number that is new to all members.
  void create(uint32_t number, GroupMembers members, Time now);
  /// Fails the group's pending operations, and those of its other members.
  void leave(uint32_t number);
  /// Returns null for a group that this rank has left.
  RankGroup* find(uint32_t number) {
    if (number == 0) return world_;
    const auto found = groups_.find(number);
    return found == groups_.end() ? nullptr : &found->second;
  }
  const RankGroup* find(uint32_t number) const {
    const auto found = groups_.find(number);
    return found == groups_.end() ? nullptr : &found->second;
  }

  /// `group` is that of the operation.
  void submit(RankGroup& group, std::shared_ptr<Operation> operation);
  /// Returns true if anything moved or ended.
  bool step(Time now);
  Time next_deadline() const;
  bool idle() const;
  /// True when a group may need this rank although nothing of it is pending here.
  bool serves() const;
  /// Returns how many entries about named collectives all groups keep: those of this rank that
  /// have not ended. On rank 0 of a group also those that it has not decided about.
  size_t named_entries() const;
  /// Appends the first pending collective of each group.
  void add_waits(std::vector<PendingWait>& waits) const;
  /// Fails all pending operations. Nothing may be submitted afterwards.
  void fail_all(const OperationFailure& why);

  /// Handles the control frames of collectives. Frames of a group that this rank has not created
  /// yet wait until then.
  Result<> control(const Message& message, ByteSpan payload, Time now);
  Result<PayloadTarget> place(const Message& message);
  Result<> arrived(const Message& message);

 private:
  struct EarlyMessage {
    Message message;
    Bytes payload;
  };

  static Result<> handle(Collectives& collectives, const Message& message, ByteSpan payload,
                         Time now);
  Result<> handle(RankGroup& group, const Message& message, ByteSpan payload, Time now);
  NamedCollectives& named(RankGroup& group);
  bool have_host_memory(const GroupMembers& members) const;
  AreaPool::Areas make_areas(const GroupMembers& members);
  /// The collectives to which the frame belongs.
  Collectives& collectives_of(RankGroup& group, const Message& message);
  RankGroup* of(const Message& message);
  void activate(RankGroup& group);

  Peers& peers_;
  Prepare prepare_;
  bool any_named_ = false;  ///< a group has named collectives
  std::shared_ptr<AreaPool> pool_;
  std::map<uint32_t, RankGroup> groups_;
  RankGroup* world_ = nullptr;
  std::vector<RankGroup*> active_;
  std::vector<EarlyMessage> early_;
  uint32_t next_number_ = 0;
};

}  // namespace dt
