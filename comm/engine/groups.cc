#include "comm/engine/groups.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

/// Each member of a new group may send a few messages before this rank has created it.
constexpr size_t early_messages_max_per_rank = 16;

}  // namespace

Groups::Groups(Peers& peers, const std::shared_ptr<SharedArea>& shared) : peers_(peers) {
  GroupPeers world(peers, next_number_, ranks_from_0(peers.size()));
  const auto made = groups_.try_emplace(next_number_++, std::move(world), shared);
  world_ = &made.first->second;
}

void Groups::create(uint32_t number, std::vector<int> ranks, Time now) {
  assert(number >= next_number_);
  next_number_ = number + 1;
  const auto made = groups_.try_emplace(number, GroupPeers(peers_, number, std::move(ranks)),
                                        std::shared_ptr<SharedArea>());
  Group& group = made.first->second;
  activate(group);
  for (const EarlyMessage& early : std::exchange(early_, {})) {
    if (GroupPeers::group_of(early.message.stream) > number) early_.push_back(early);
    // A message that breaks the protocol has no effect here. Its sender gets no answer.
    if (GroupPeers::group_of(early.message.stream) == number)
      (void)handle(group.collectives, early.message, early.payload, now);
  }
}

void Groups::leave(uint32_t number) {
  const auto found = groups_.find(number);
  if (found == groups_.end()) return;
  found->second.collectives.leave();
  std::erase(active_, &found->second);
  groups_.erase(found);
}

const GroupPeers* Groups::find(uint32_t number) const {
  const auto found = groups_.find(number);
  return found == groups_.end() ? nullptr : &found->second.collectives.peers();
}

void Groups::activate(Group& group) {
  if (group.active) return;
  group.active = true;
  active_.push_back(&group);
}

void Groups::submit(std::shared_ptr<Operation> operation) {
  const uint32_t number = operation->request.group;
  Group& group = number == 0 ? *world_ : groups_.at(number);
  activate(group);
  group.collectives.submit(std::move(operation));
}

uint64_t Groups::take_sequence(uint32_t number) {
  return groups_.at(number).collectives.take_sequence();
}

bool Groups::step(Time now) {
  bool moved = false;
  for (Group* group : active_)
    moved |= group->collectives.step(now);
  std::erase_if(active_, [](Group* group) {
    group->active = !group->collectives.quiet();
    return !group->active;
  });
  return moved;
}

bool Groups::has_memory(uint32_t number) const {
  if (number == 0) return world_->collectives.has_memory();
  const auto found = groups_.find(number);
  return found != groups_.end() && found->second.collectives.has_memory();
}

bool Groups::runs_in_memory(uint32_t number) const {
  const Group& group = number == 0 ? *world_ : groups_.at(number);
  return group.collectives.runs_in_memory();
}

bool Groups::spin(uint32_t number, Time now) {
  Group& group = number == 0 ? *world_ : groups_.at(number);
  return group.collectives.spin(now);
}

Time Groups::next_deadline() const {
  Time next = Time::max();
  for (const Group* group : active_)
    next = std::min(next, group->collectives.next_deadline());
  return next;
}

void Groups::add_waits(std::vector<PendingWait>& waits) const {
  for (const Group* group : active_)
    group->collectives.add_wait(waits);
}

const Collectives* Groups::collectives(uint32_t number) const {
  const auto found = groups_.find(number);
  return found == groups_.end() ? nullptr : &found->second.collectives;
}

bool Groups::idle() const {
  return std::all_of(active_.begin(), active_.end(),
                     [](const Group* group) { return group->collectives.idle(); });
}

void Groups::fail_all(const OperationFailure& why) {
  for (auto& [number, group] : groups_)
    group.collectives.fail_all(why);
}

Groups::Group* Groups::of(const Message& message) {
  const uint32_t number = GroupPeers::group_of(message.stream);
  if (number == 0) return world_;
  const auto found = groups_.find(number);
  if (found == groups_.end() || found->second.collectives.peers().rank_of(message.from) < 0)
    return nullptr;
  return &found->second;
}

Result<> Groups::control(const Message& message, ByteSpan payload, Time now) {
  Group* group = of(message);
  if (group != nullptr) {
    activate(*group);
    return handle(group->collectives, message, payload, now);
  }
  // This rank has left the group, and has announced it to the others.
  if (GroupPeers::group_of(message.stream) < next_number_) return {};
  const auto from_sender = std::count_if(early_.begin(), early_.end(), [&](const EarlyMessage& e) {
    return e.message.from == message.from;
  });
  if (static_cast<size_t>(from_sender) >= early_messages_max_per_rank)
    return fail(Errc::protocol, "too many messages of groups that do not exist");
  early_.push_back({message, {payload.begin(), payload.end()}});
  return {};
}

Result<> Groups::handle(Collectives& collectives, const Message& message, ByteSpan payload,
                        Time now) {
  switch (static_cast<EngineMessageType>(message.type)) {
    case EngineMessageType::call:
      return collectives.call(message, payload, now);
    case EngineMessageType::roll_call:
      return collectives.roll_call(message, now);
    case EngineMessageType::descriptor:
      return collectives.descriptor(message, payload, now);
    case EngineMessageType::verdict:
      return collectives.verdict(message, payload);
    default:
      return collectives.stop(payload);
  }
}

Result<PayloadTarget> Groups::place(const Message& message) {
  Group* group = of(message);
  if (group != nullptr) {
    activate(*group);
    // Data that waits in a link blocks the other groups' data behind it. So two groups could each
    // wait for the other.
    return group->collectives.place(message, groups_.size() > 1);
  }
  if (GroupPeers::group_of(message.stream) < next_number_)
    return PayloadTarget{PayloadTarget::Action::discard};
  // Another member has created the group first. This one will, without more data of that member.
  return PayloadTarget{};
}

Result<> Groups::arrived(const Message& message) {
  Group* group = of(message);
  return group == nullptr ? Result<>{} : group->collectives.arrived(message);
}

}  // namespace dt
