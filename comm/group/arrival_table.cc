#include "comm/group/arrival_table.h"

#include "base/format.h"

#include <cassert>
#include <utility>

namespace dt {

Result<> ArrivalTable::add(int rank, Arrival arrival, Time now) {
  Entry& entry = entries_[static_cast<size_t>(rank)];
  if (!empty() && arrival.sequence != sequence_) {
    return fail(Errc::protocol, format("descriptor of collective #{}, others are at #{}",
                                       arrival.sequence, sequence_));
  }
  if (arrival.state == CallState::absent) {
    entry.absent = !empty();
    return {};
  }
  if (entry.arrived && arrival.state <= entry.arrival.state)
    return fail(Errc::protocol, "a second descriptor for one collective");
  sequence_ = arrival.sequence;
  const bool limited = arrival.timeout > Duration::zero() && arrival.remaining < Time::max() - now;
  const Time deadline = limited ? now + arrival.remaining : Time::max();
  if (!entry.arrived) ++arrived_;
  entry = Entry{.arrived = true, .arrival = std::move(arrival), .deadline = deadline};
  return {};
}

std::vector<int> ArrivalTable::missing() const {
  std::vector<int> ranks;
  ranks.reserve(entries_.size() - arrived_);
  for (size_t rank = 0; rank < entries_.size(); ++rank)
    if (!entries_[rank].arrived) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<int> ArrivalTable::absent() const {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < entries_.size(); ++rank)
    if (entries_[rank].absent) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

bool ArrivalTable::needs_all() const {
  const Descriptor* first = nullptr;
  for (const Entry& entry : entries_) {
    if (!entry.arrived) continue;
    if (entry.arrival.state != CallState::runs) return true;
    if (first == nullptr) first = &entry.arrival.descriptor;
    if (!(entry.arrival.descriptor == *first)) return true;
  }
  return false;
}

ArrivalTable::Deadline ArrivalTable::next_deadline() const {
  Deadline next;
  for (size_t rank = 0; rank < entries_.size(); ++rank)
    if (entries_[rank].arrived && entries_[rank].deadline < next.time)
      next = {static_cast<int>(rank), entries_[rank].deadline};
  return next;
}

std::vector<Descriptor> ArrivalTable::take() {
  std::vector<Descriptor> descriptors;
  descriptors.reserve(entries_.size());
  for (Entry& entry : entries_) {
    assert(entry.arrived);
    descriptors.push_back(std::move(entry.arrival.descriptor));
  }
  clear();
  return descriptors;
}

void ArrivalTable::clear() {
  for (Entry& entry : entries_)
    entry = Entry{};
  arrived_ = 0;
}

}  // namespace dt
