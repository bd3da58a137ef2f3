#include "comm/engine/rank_group.h"

#include <algorithm>
#include <utility>

namespace dt {

RankGroup::RankGroup(GroupPeers peers, AreaPool::Areas areas, int place)
    : collectives_(std::move(peers), std::move(areas.unnamed)),
      named_memory_(std::move(areas.named)),
      place_(place) {
}

NamedCollectives& RankGroup::use_named(GroupPeers lane, NamedCollectives::Prepare prepare) {
  named_ = std::make_unique<NamedCollectives>(std::move(lane), std::move(prepare), named_memory_);
  return *named_;
}

bool RankGroup::step(Time now) {
  bool moved = collectives_.step(now);
  if (named_) moved |= named_->step(now);
  return moved;
}

Time RankGroup::next_deadline() const {
  const Time next = collectives_.next_deadline();
  return named_ ? std::min(next, named_->next_deadline()) : next;
}

void RankGroup::fail_all(const OperationFailure& why) {
  collectives_.fail_all(why);
  if (named_) named_->fail_all(why);
}

void RankGroup::add_waits(std::vector<PendingWait>& waits) const {
  collectives_.add_wait(waits);
  if (named_) named_->add_waits(waits);
}

std::vector<int> RankGroup::awaited(const Operation& operation) const {
  const NamedCollectives* named = named_of(operation);
  return named != nullptr ? named->awaited(operation) : collectives_.awaited();
}

int RankGroup::data_from(const Operation& operation) const {
  const NamedCollectives* named = named_of(operation);
  return named != nullptr ? named->data_from() : collectives_.data_from();
}

std::string RankGroup::last_before(const Operation& operation) const {
  const NamedCollectives* named = named_of(operation);
  const std::string last = named != nullptr ? named->last_label() : "";
  return last.empty() ? collectives_.last_label() : last;
}

}  // namespace dt
