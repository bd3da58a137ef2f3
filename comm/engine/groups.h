#pragma once

#include "base/bytes.h"
#include "comm/collective/collectives.h"
#include "comm/collective/messages.h"
#include "comm/engine/group_members.h"
#include "comm/memory/area_pool.h"
#include "comm/named/named_collectives.h"

#include <cstdint>
#include <functional>
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
  using Prepare = std::function<Result<>(const GroupPeers&, OperationRequest&)>;
  /// The memory of the ranks on this rank's host; null if there is no other.
  struct Memory {
    bool on_hosts = false;  ///< the ranks of each host share memory
    std::shared_ptr<SharedArea> unnamed;
    std::shared_ptr<SharedArea> named;
    std::shared_ptr<AreaPool> pool;  ///< for groups; may be null
  };
  Groups(Peers& peers, Memory memory, Prepare prepare);

  /// The lowest number that is new to this rank.
  uint32_t next_number() const { return next_number_; }
  /// Reserves this rank's part in the memory of a new group, and returns its place; -1: none.
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
  const GroupPeers* find(uint32_t number) const;

  /// Requires that this rank is in the operation's group.
  void submit(std::shared_ptr<Operation> operation);
  /// Returns the sequence number of a collective that fails at once and is never queued.
  uint64_t take_sequence(uint32_t number);
  /// Returns a number for the name of an unnamed call of several tensors. Requires that this rank
  /// is in the group.
  uint64_t take_list(uint32_t number);
  /// True when a collective of that name is pending in the group.
  bool is_pending(const OperationRequest& request) const;
  /// Returns true if anything moved or ended.
  bool step(Time now);
  /// True when the group's ranks share memory. False for a group that this rank has left.
  bool has_memory(uint32_t number) const;
  /// True when the group's first operation needs shared memory only, and no frame.
  bool runs_in_memory(uint32_t number) const;
  /// Moves data of that operation alone; true if anything moved. Requires runs_in_memory().
  bool spin(uint32_t number, Time now);
  Time next_deadline() const;
  bool idle() const;
  /// True when a group may need this rank although nothing of it is pending here.
  bool serves() const;
  /// Returns the counts of calls with a quorum in that group.
  LateSteps::Counts quorum_counts(uint32_t number) const;
  /// Returns how many entries about named collectives all groups keep.
  size_t named_entries() const;
  /// Appends the first pending collective of each group.
  void add_waits(std::vector<PendingWait>& waits) const;
  // About a pending collective; nothing for a group that this rank has left. A thread may ask about
  // its call before that is submitted.
  /// Returns the job's ranks for which the operation waits now.
  std::vector<int> awaited(const Operation& operation) const;
  /// Returns the job's rank whose data it waits for, or -1.
  int data_from(const Operation& operation) const;
  /// Returns the label of the last collective before it; empty for none.
  std::string last_before(const Operation& operation) const;
  /// Fails all pending operations. Nothing may be submitted afterwards.
  void fail_all(const OperationFailure& why);

  /// Handles the control frames of collectives. Frames of a group that this rank has not created
  /// yet wait until then.
  Result<> control(const Message& message, ByteSpan payload, Time now);
  /// As Collectives::stopped().
  const CollectiveStop* stopped(uint32_t group) const;
  /// The failure of all calls by name of the group from now on; none so far.
  std::optional<OperationFailure> failed_by_name(uint32_t group) const;
  Result<PayloadTarget> place(const Message& message);
  Result<> arrived(const Message& message);

 private:
  struct EarlyMessage {
    Message message;
    Bytes payload;
  };
  struct GroupState {
    GroupState(GroupPeers peers, AreaPool::Areas areas, int reserved)
        : collectives(std::move(peers), std::move(areas.unnamed)),
          named_memory(std::move(areas.named)),
          place(reserved) {}
    Collectives collectives;
    std::shared_ptr<SharedArea> named_memory;
    int place;  ///< of this rank's part in its memory; -1: none
    std::unique_ptr<NamedCollectives> named = nullptr;  ///< null until it is first used
    uint64_t lists = 0;                                 ///< unnamed calls of several tensors
    bool active = false;                                ///< it is in active_
  };

  static Result<> handle(Collectives& collectives, const Message& message, ByteSpan payload,
                         Time now);
  Result<> handle(GroupState& group, const Message& message, ByteSpan payload, Time now);
  static bool by_name(const GroupState& group, const OperationRequest& request);
  NamedCollectives& named(GroupState& group);
  bool have_host_memory(const GroupMembers& members) const;
  AreaPool::Areas make_areas(const GroupMembers& members);
  /// The collectives to which the frame belongs.
  Collectives& collectives_of(GroupState& group, const Message& message);
  GroupState* of(const Message& message);
  const GroupState* find_group(uint32_t number) const;
  void activate(GroupState& group);

  Peers& peers_;
  Prepare prepare_;
  bool any_named_ = false;  ///< a group has named collectives
  std::shared_ptr<AreaPool> pool_;
  std::map<uint32_t, GroupState> groups_;
  GroupState* world_ = nullptr;
  std::vector<GroupState*> active_;
  std::vector<EarlyMessage> early_;
  uint32_t next_number_ = 0;
};

}  // namespace dt
