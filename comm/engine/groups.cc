#include "comm/engine/groups.h"

#include "base/format.h"
#include "comm/named/join.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

/// Each member of a new group may send a few messages before this rank has created it.
constexpr size_t early_messages_max_per_rank = 16;
/// The bit of the numbers of lanes for named collectives.
constexpr uint32_t lane_bit = Groups::numbers_max;

/// Returns the number of the user's group.
uint32_t number_of(const Message& message) {
  return GroupPeers::group_of(message.stream) & ~lane_bit;
}

bool is_of_lane(const Message& message) {
  return (GroupPeers::group_of(message.stream) & lane_bit) != 0;
}

}  // namespace

Groups::Groups(Peers& peers, Memory memory, Prepare prepare)
    : peers_(peers), prepare_(std::move(prepare)), pool_(std::move(memory.pool)) {
  GroupPeers world(peers, next_number_, ranks_from_0(peers.size()), memory.on_hosts);
  AreaPool::Areas areas{std::move(memory.unnamed), std::move(memory.named)};
  const auto made =
      groups_.try_emplace(next_number_++, std::move(world), std::move(areas), /*reserved=*/-1);
  world_ = &made.first->second;
}

void Groups::create(uint32_t number, GroupMembers members, Time now) {
  assert(number >= next_number_);
  next_number_ = number + 1;
  const bool memory = have_host_memory(members);
  AreaPool::Areas areas = memory ? make_areas(members) : AreaPool::Areas();
  const auto self = std::ranges::find(members.ranks, peers_.rank()) - members.ranks.begin();
  int place = members.places[static_cast<size_t>(self)];
  if (!areas.unnamed) release_place(std::exchange(place, -1));
  const auto made =
      groups_.try_emplace(number, GroupPeers(peers_, number, std::move(members.ranks), memory),
                          std::move(areas), place);
  RankGroup& group = made.first->second;
  activate(group);
  for (const EarlyMessage& early : std::exchange(early_, {})) {
    if (number_of(early.message) > number) early_.push_back(early);
    // A message that breaks the protocol has no effect here. Its sender gets no answer.
    if (number_of(early.message) == number) (void)handle(group, early.message, early.payload, now);
  }
}

/// True when all members that share a host have places in its memory. The same on all members.
bool Groups::have_host_memory(const GroupMembers& members) const {
  std::map<int, int> local;  // members by host
  for (const int rank : members.ranks)
    ++local[peers_.host(rank)];
  for (size_t i = 0; i < members.ranks.size(); ++i)
    if (members.places[i] < 0 && local[peers_.host(members.ranks[i])] > 1) return false;
  return true;
}

/// Makes the areas of the members on this host; none if this rank is alone there.
AreaPool::Areas Groups::make_areas(const GroupMembers& members) {
  std::vector<int> places;
  int self = 0;
  for (size_t i = 0; i < members.ranks.size(); ++i) {
    const int rank = members.ranks[i];
    if (peers_.host(rank) != peers_.host(peers_.rank())) continue;
    if (rank == peers_.rank()) self = static_cast<int>(places.size());
    places.push_back(members.places[i]);
  }
  return places.size() > 1 ? pool_->make(places, self) : AreaPool::Areas();
}

void Groups::leave(uint32_t number) {
  const auto found = groups_.find(number);
  if (found == groups_.end()) return;
  RankGroup& group = found->second;
  group.collectives().leave();
  named(group).leave();
  std::erase(active_, &group);
  const int place = group.place();
  groups_.erase(found);
  release_place(place);
}

void Groups::activate(RankGroup& group) {
  if (group.active()) return;
  group.set_active(true);
  active_.push_back(&group);
}

void Groups::submit(RankGroup& group, std::shared_ptr<Operation> operation) {
  // A rank alone is the last to join.
  if (operation->request.kind == OperationKind::join && group.peers().size() == 1)
    return end_join(*operation, 0);
  activate(group);
  if (group.by_name(operation->request)) return named(group).submit(std::move(operation));
  const auto& terms = operation->request.terms;
  if (terms && terms->quorum.ranks > 0) note_participants(*operation, {0});
  group.collectives().submit(std::move(operation));
}

NamedCollectives& Groups::named(RankGroup& group) {
  if (group.named() != nullptr) return *group.named();
  any_named_ = true;
  const GroupPeers& peers = group.peers();
  return group.use_named(
      GroupPeers(peers_, peers.number() | lane_bit, peers.job_ranks(), peers.has_host_memory()),
      prepare_);
}

Collectives& Groups::collectives_of(RankGroup& group, const Message& message) {
  return is_of_lane(message) ? named(group).lane() : group.collectives();
}

bool Groups::step(Time now) {
  bool moved = false;
  for (RankGroup* group : active_)
    moved |= group->step(now);
  std::erase_if(active_, [](RankGroup* group) {
    group->set_active(!group->quiet());
    return !group->active();
  });
  return moved;
}

Time Groups::next_deadline() const {
  Time next = Time::max();
  for (const RankGroup* group : active_)
    next = std::min(next, group->next_deadline());
  return next;
}

void Groups::add_waits(std::vector<PendingWait>& waits) const {
  for (const RankGroup* group : active_)
    group->add_waits(waits);
}

bool Groups::idle() const {
  return std::ranges::all_of(active_, &RankGroup::idle);
}

bool Groups::serves() const {
  return any_named_ && std::ranges::any_of(groups_, [](const auto& entry) {
           const NamedCollectives* named = entry.second.named();
           return named != nullptr && named->serves();
         });
}

size_t Groups::named_entries() const {
  size_t entries = 0;
  for (const auto& [number, group] : groups_)
    if (group.named() != nullptr) entries += group.named()->entries();
  return entries;
}

void Groups::fail_all(const OperationFailure& why) {
  for (auto& [number, group] : groups_)
    group.fail_all(why);
  // A group that is made later fails all its operations, too.
  early_.clear();
}

RankGroup* Groups::of(const Message& message) {
  RankGroup* const group = find(number_of(message));
  if (group == nullptr || group == world_) return group;
  return group->peers().rank_of(message.from) < 0 ? nullptr : group;
}

Result<> Groups::control(const Message& message, ByteSpan payload, Time now) {
  RankGroup* group = of(message);
  if (group != nullptr) {
    activate(*group);
    return handle(*group, message, payload, now);
  }
  // This rank has left the group, and has announced it to the others.
  if (number_of(message) < next_number_) return {};
  const auto from_sender = std::count_if(early_.begin(), early_.end(), [&](const EarlyMessage& e) {
    return e.message.from == message.from;
  });
  if (static_cast<size_t>(from_sender) >= early_messages_max_per_rank)
    return fail(Errc::protocol, "too many messages of groups that do not exist");
  early_.push_back({message, {payload.begin(), payload.end()}});
  return {};
}

Result<> Groups::handle(RankGroup& group, const Message& message, ByteSpan payload, Time now) {
  switch (static_cast<EngineMessageType>(message.type)) {
    case EngineMessageType::name_call:
      return named(group).announcement(message, payload, now);
    case EngineMessageType::name_decision:
      return named(group).decision(message, payload);
    default:
      return handle(collectives_of(group, message), message, payload, now);
  }
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
  RankGroup* group = of(message);
  if (group != nullptr) {
    activate(*group);
    // Data that waits in a link blocks the other groups' data behind it. So two groups could each
    // wait for the other.
    return collectives_of(*group, message).place(message, groups_.size() > 1 || any_named_);
  }
  if (number_of(message) < next_number_) return PayloadTarget{PayloadTarget::Action::discard};
  // Another member has created the group first. This one will, without more data of that member.
  return PayloadTarget{};
}

Result<> Groups::arrived(const Message& message) {
  RankGroup* group = of(message);
  return group == nullptr ? Result<>{} : collectives_of(*group, message).arrived(message);
}

}  // namespace dt
