#pragma once

#include "comm/collective/operation.h"
#include "comm/collective/peers.h"
#include "comm/collective/pending_wait.h"
#include "comm/engine/group_call.h"
#include "comm/engine/groups.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace dt {

/// Groups that their members make without the other ranks. Each member sends its call to the lowest
/// one, the leader. It waits for the calls of all, and chooses the highest of the numbers that they
/// propose. Every member then creates the group.
///
///   member:  queued ─ call ▶ leader … made ▶ done
///                └─ late: call ▶ every other member; each compares it with its own call
///   leader, late member:  another call differs ▶ failed; its rank and the leader are informed
///   leader:  all calls are there ─ made ▶ every member
///              └─ a time limit ends, or a member is gone ─ failed ▶ every member
///
/// Two ranks make the groups that both are in one after the other, in the same order. So a call of
/// a member for another group is an error. Members may have different leaders then, which is why
/// late calls go to every member.
class GroupAgreement {
 public:
  /// Requires that both outlive this object.
  GroupAgreement(Peers& peers, Groups& groups) : peers_(peers), groups_(groups) {}

  /// The request has the members, this rank among them, and a place for the result: the number.
  void submit(std::shared_ptr<Operation> operation) { queue_.push_back(std::move(operation)); }
  /// Returns true if anything moved or ended.
  bool step(Time now);
  Time next_deadline() const;
  bool idle() const { return queue_.empty(); }
  void fail_all(const OperationFailure& why);
  void add_waits(std::vector<PendingWait>& waits) const;
  /// Returns the ranks for which the first call waits now.
  std::vector<int> awaited() const;

  Result<> call(const Message& message, ByteSpan payload);
  Result<> withdrawn(const Message& message, ByteSpan payload);
  Result<> failed(const Message& message, ByteSpan payload);
  Result<> made(const Message& message, ByteSpan payload, Time now);

 private:
  /// A group that has failed. The leader's later call fails for the same reason, and those of
  /// members that were not informed.
  struct Refused {
    uint64_t digest = 0;
    OperationFailure why = {};
    std::set<int> informed = {};
  };
  /// A call that has failed here, although the leader may still make the group.
  struct Aborted {
    uint32_t id = 0;
    int leader = 0;
    uint64_t digest = 0;
    std::vector<int> members = {};
  };
  static constexpr size_t refused_max = 16;

  Operation& front() { return *queue_.front(); }
  OperationFailure difference(int rank, const GroupCall& call) const;
  const std::vector<int>& members() const { return queue_.front()->request.members; }
  bool is_member(int rank) const;
  bool leads() const { return leader_ == peers_.rank(); }
  bool has_call_of(int rank) const;
  std::vector<int> missing() const;
  OperationFailure missing_failure(const std::string& reason) const;
  bool begin(Time now);
  void send_call(int rank);
  bool compare_with_others();
  bool complete() const;
  void decide(Time now);
  bool end_overdue(Time now);
  bool end_without_gone();
  void make(uint32_t number, Time now);
  Result<> make_aborted(uint32_t number, Time now);
  void pop();
  void fail_front(const OperationFailure& why, std::set<int> informed = {});
  void inform_members(const OperationFailure& why, std::set<int> informed);
  void refuse(uint64_t digest, const OperationFailure& why, std::set<int> informed);
  bool refuse_late(int rank);
  void send_failed(int rank, uint32_t id, const OperationFailure& why);

  Peers& peers_;
  Groups& groups_;
  std::deque<std::shared_ptr<Operation>> queue_;  ///< the first is under way
  bool begun_ = false;                            ///< the first has begun
  GroupCall own_;                                 ///< of the first, or of the last before it
  int leader_ = 0;
  std::set<int> sent_;             ///< the ranks that have got this rank's call
  Time late_ = Time::max();        ///< when it goes to every member
  bool timed_out_ = false;         ///< its time limit has ended, and the leader was informed
  Aborted aborted_;                ///< the last one
  std::map<int, GroupCall> seen_;  ///< the last call of each other rank
  std::deque<Refused> refused_;
  std::map<uint64_t, uint32_t> made_;  ///< how many groups, by digest
};

}  // namespace dt
