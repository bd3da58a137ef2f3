#include "comm/engine/group_agreement.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/collective_stop.h"
#include "comm/collective/descriptor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dt {

namespace {

/// A call that has not ended after this time, or after half of its limit, goes to every member.
constexpr Duration group_late_after = milliseconds(100);
/// A member waits this much longer than its time limit for the leader, which names the missing.
constexpr Duration leader_grace = milliseconds(250);

std::string limit_text(const Operation& operation) {
  return "timed out after " + duration_text(operation.request.timeout);
}

}  // namespace

bool GroupAgreement::is_member(int rank) const {
  return begun_ && std::ranges::find(members(), rank) != members().end();
}

/// True when the last call of that rank is the same as that of this one.
bool GroupAgreement::has_call_of(int rank) const {
  const auto seen = seen_.find(rank);
  return seen != seen_.end() && seen->second.digest == own_.digest;
}

std::vector<int> GroupAgreement::missing() const {
  std::vector<int> ranks;
  for (const int rank : members())
    if (rank != peers_.rank() && !has_call_of(rank)) ranks.push_back(rank);
  std::ranges::sort(ranks);
  return ranks;
}

bool GroupAgreement::step(Time now) {
  bool moved = false;
  while (!queue_.empty()) {
    if (!begun_) {
      moved = true;
      if (!begin(now) || compare_with_others()) continue;
    }
    if (complete()) {
      decide(now);
    } else if (!end_without_gone() && !end_overdue(now)) {
      break;
    }
    moved = true;
  }
  return moved;
}

/// Begins the first call. Returns false if it has failed, as the same call of another member has.
bool GroupAgreement::begin(Time now) {
  note_start(front());
  begun_ = true;
  const uint32_t id = own_.id + 1;
  own_ = GroupCall::of(members(), front().request.name);
  own_.id = id;
  own_.number = groups_.next_number();
  own_.made = made_[own_.digest];
  leader_ = std::ranges::min(members());
  sent_.clear();
  timed_out_ = false;
  const Time end = deadline(front());
  late_ =
      now + (end == Time::max() ? group_late_after : std::min(group_late_after, (end - now) / 2));
  const auto of_own = [this](const Refused& refused) { return refused.digest == own_.digest; };
  const auto refused = std::ranges::find_if(refused_, of_own);
  const bool fails =
      leads() && refused != refused_.end() && !refused->informed.contains(peers_.rank());
  if (fails) {
    fail_front(OperationFailure(refused->why));
    return false;
  }
  // The members try again.
  std::erase_if(refused_, of_own);
  if (!leads()) send_call(leader_);
  return true;
}

void GroupAgreement::send_call(int rank) {
  if (!sent_.insert(rank).second) return;
  peers_.send(rank, EngineMessageType::group_call, 0, encode(own_));
}

/// Compares the first call with those of the other members. Returns true if it has failed. A call
/// that has failed before is refused by the leader soon; its members may be at their next one.
bool GroupAgreement::compare_with_others() {
  if (!leads() && late_ != Time::max()) return false;
  for (const int rank : std::vector<int>(members())) {
    const auto found = seen_.find(rank);
    if (found == seen_.end() || found->second.digest == own_.digest) continue;
    const GroupCall other = std::move(found->second);
    seen_.erase(found);
    const OperationFailure differs = difference(rank, other);
    send_failed(rank, other.id, differs);
    refuse(other.digest, differs, {rank, peers_.rank()});
    fail_front(differs, {rank});
    return true;
  }
  return false;
}

/// The lower rank stands first, so that both ranks get the same text.
OperationFailure GroupAgreement::difference(int rank, const GroupCall& call) const {
  const int self = peers_.rank();
  const bool lower = rank < self;
  return {Errc::mismatch, std::max(rank, self),
          format("rank {} gave {}, rank {} {}", std::min(rank, self), lower ? call.text : own_.text,
                 std::max(rank, self), lower ? own_.text : call.text)};
}

bool GroupAgreement::complete() const {
  return leads() && std::ranges::all_of(
                        members(), [this](int r) { return r == peers_.rank() || has_call_of(r); });
}

/// The leader: the calls of all members are there, and equal.
void GroupAgreement::decide(Time now) {
  uint32_t number = groups_.next_number();
  for (const int rank : members())
    if (rank != peers_.rank()) number = std::max(number, seen_.at(rank).number);
  if (number >= Groups::numbers_max) {
    return fail_front({Errc::unsupported, -1, std::string(no_more_groups)});
  }
  for (const int rank : members()) {
    if (rank == peers_.rank()) continue;
    peers_.send(rank, EngineMessageType::group_made, 0,
                encode(MadeGroup{seen_.at(rank).id, number}));
  }
  make(number, now);
}

void GroupAgreement::make(uint32_t number, Time now) {
  const std::shared_ptr<Operation> operation = queue_.front();
  for (const int rank : members())
    if (has_call_of(rank)) seen_.erase(rank);
  pop();
  OperationResult& result = *operation->request.result;
  result.data = std::make_unique_for_overwrite<std::byte[]>(sizeof number);
  std::memcpy(result.data.get(), &number, sizeof number);
  result.counts.assign(1, 1);
  ++made_[own_.digest];
  groups_.create(number, GroupMembers(operation->request.members), now);
  succeed(*operation);
}

void GroupAgreement::pop() {
  queue_.pop_front();
  begun_ = false;
  late_ = Time::max();
}

bool GroupAgreement::end_overdue(Time now) {
  if (now >= late_) {
    late_ = Time::max();
    for (const int rank : members())
      if (rank != peers_.rank()) send_call(rank);
    if (compare_with_others()) return true;
  }
  const Time end = deadline(front());
  if (now < end) return false;
  if (leads()) {
    fail_front(missing_failure(limit_text(front())));
    return true;
  }
  if (!timed_out_) {
    timed_out_ = true;
    const OperationFailure why{Errc::timeout, peers_.rank(), limit_text(front())};
    peers_.send(leader_, EngineMessageType::group_withdrawn, 0, encode(GroupCallEnd{own_.id, why}));
  }
  if (now - end < leader_grace) return false;
  const std::string reason = limit_text(front());
  // The leader answers if it has made the call.
  fail_front({Errc::timeout, leader_,
              format("{}: {} has not {}", reason, peers_.name(leader_),
                     has_call_of(leader_) ? "answered" : "arrived")});
  return true;
}

OperationFailure GroupAgreement::missing_failure(const std::string& reason) const {
  const std::vector<int> ranks = missing();
  if (ranks.empty()) return {Errc::timeout, -1, reason};
  const bool one = ranks.size() == 1;
  return {Errc::timeout, ranks.front(),
          format("{}: {} {} not arrived", reason,
                 one ? peers_.name(ranks.front()) : ranks_text(ranks), one ? "has" : "have")};
}

/// The leader needs all members, and the others need the leader. A leader that leaves because its
/// call has failed is not the cause, but the member that was lost before.
bool GroupAgreement::end_without_gone() {
  const std::vector<int> needed = leads() ? missing() : std::vector<int>{leader_};
  if (std::ranges::none_of(needed, [this](int rank) { return peers_.gone(rank); })) return false;
  const int cause = peers_.first_lost(leads() ? needed : members());
  fail_front({Errc::peer_lost, cause, peers_.gone_reason(cause)});
  return true;
}

/// Fails the first call. The leader informs all members of it but those that were informed, and the
/// others inform the leader.
void GroupAgreement::fail_front(const OperationFailure& why, std::set<int> informed) {
  inform_members(why, std::move(informed));
  aborted_ = {own_.id, leader_, own_.digest, members()};
  const std::shared_ptr<Operation> operation = queue_.front();
  pop();
  end(*operation, why);
}

void GroupAgreement::inform_members(const OperationFailure& why, std::set<int> informed) {
  for (const int rank : members()) {
    if (leads() && rank != leader_ && has_call_of(rank)) {
      send_failed(rank, seen_.at(rank).id, why);
      seen_.erase(rank);
      informed.insert(rank);
    }
    if (sent_.contains(rank))
      peers_.send(rank, EngineMessageType::group_withdrawn, 0, encode(GroupCallEnd{own_.id, why}));
  }
  if (!leads()) return;
  informed.insert(peers_.rank());
  refuse(own_.digest, why, std::move(informed));
}

/// Notes a failure for the members that have not made their call of that group. Those whose call is
/// there get it now.
void GroupAgreement::refuse(uint64_t digest, const OperationFailure& why, std::set<int> informed) {
  const auto noted = std::ranges::find(refused_, digest, &Refused::digest);
  if (noted != refused_.end()) {
    noted->informed.merge(informed);
  } else {
    refused_.push_back({digest, why, std::move(informed)});
  }
  if (refused_.size() > refused_max) refused_.pop_front();
  std::vector<int> ranks;
  for (const auto& [rank, call] : seen_)
    if (call.digest == digest) ranks.push_back(rank);
  for (const int rank : ranks)
    refuse_late(rank);
}

/// Returns true when the call of that rank is one of a group that has failed.
bool GroupAgreement::refuse_late(int rank) {
  const GroupCall call = seen_.at(rank);
  for (Refused& refused : refused_) {
    if (refused.digest != call.digest || !refused.informed.insert(rank).second) continue;
    send_failed(rank, call.id, refused.why);
    seen_.erase(rank);
    return true;
  }
  return false;
}

void GroupAgreement::send_failed(int rank, uint32_t id, const OperationFailure& why) {
  peers_.send(rank, EngineMessageType::group_failed, 0, encode(GroupCallEnd{id, why}));
}

Result<> GroupAgreement::call(const Message& message, ByteSpan payload) {
  GroupCall call = TRY(decode_group_call(payload));
  const auto made = made_.find(call.digest);
  // A late call may arrive behind the group that it asked for, which the leader has made.
  if (made != made_.end() && call.made < made->second) return {};
  const bool live = begun_ && own_.digest == call.digest;
  seen_[message.from] = std::move(call);
  if (!live && refuse_late(message.from)) return {};
  if (is_member(message.from)) compare_with_others();
  return {};
}

Result<> GroupAgreement::withdrawn(const Message& message, ByteSpan payload) {
  const GroupCallEnd ended = TRY(decode_group_call_end(payload));
  TRY(peers_.check_blamed(ended.why.blamed_rank));
  const auto found = seen_.find(message.from);
  if (found == seen_.end() || found->second.id != ended.id) return {};
  const OperationFailure& why = ended.why;
  if (is_member(message.from) && has_call_of(message.from) && leads()) {
    fail_front(why.code == Errc::timeout ? missing_failure(why.reason) : why);
    return {};
  }
  const uint64_t digest = found->second.digest;
  seen_.erase(found);
  const int self = peers_.rank();
  const OperationFailure late{Errc::timeout, self,
                              format("{}: {} has not arrived", why.reason, peers_.name(self))};
  refuse(digest, why.code == Errc::timeout ? late : why, {message.from});
  return {};
}

Result<> GroupAgreement::failed(const Message& message, ByteSpan payload) {
  const GroupCallEnd ended = TRY(decode_group_call_end(payload));
  TRY(peers_.check_blamed(ended.why.blamed_rank));
  if (is_member(message.from) && ended.id == own_.id) fail_front(ended.why);
  return {};
}

Result<> GroupAgreement::made(const Message& message, ByteSpan payload, Time now) {
  const MadeGroup group = TRY(decode_made_group(payload));
  if (group.number >= Groups::numbers_max) return fail(Errc::protocol, "a group without a number");
  if (group.id == aborted_.id && message.from == aborted_.leader)
    return make_aborted(group.number, now);
  const bool awaited = is_member(message.from) && message.from == leader_ && group.id == own_.id;
  if (!awaited || group.number < groups_.next_number())
    return fail(Errc::protocol, "a new group that was not asked for");
  make(group.number, now);
  return {};
}

/// The call has failed here meanwhile. The others get errors, as after any other leave.
Result<> GroupAgreement::make_aborted(uint32_t number, Time now) {
  Aborted aborted = std::exchange(aborted_, {});
  const uint32_t made = ++made_[aborted.digest];
  if (begun_ && own_.digest == aborted.digest) {
    // The others have ignored it, as one that the group had answered.
    own_.made = made;
    for (const int rank : std::exchange(sent_, {}))
      send_call(rank);
  }
  if (number < groups_.next_number()) return {};
  groups_.create(number, GroupMembers(std::move(aborted.members)), now);
  groups_.leave(number);
  return {};
}

Time GroupAgreement::next_deadline() const {
  if (queue_.empty()) return Time::max();
  const Time end = deadline(*queue_.front());
  if (end == Time::max() || leads() || !timed_out_) return std::min(late_, end);
  return std::min(late_, end + leader_grace);
}

void GroupAgreement::fail_all(const OperationFailure& why) {
  // Allocates nothing, unlike an exchange for an empty deque: memory may have run out.
  for (; !queue_.empty(); queue_.pop_front())
    end(*queue_.front(), why);
  begun_ = false;
  seen_.clear();
  refused_.clear();
}

void GroupAgreement::add_waits(std::vector<PendingWait>& waits) const {
  if (begun_) waits.push_back({queue_.front().get(), 0});
}

std::vector<int> GroupAgreement::awaited() const {
  if (!begun_) return {};
  return leads() ? missing() : std::vector<int>{leader_};
}

}  // namespace dt
