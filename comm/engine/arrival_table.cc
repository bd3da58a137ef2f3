#include "comm/engine/arrival_table.h"

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
  if (entry.arrived) return fail(Errc::protocol, "a second descriptor for one collective");
  sequence_ = arrival.sequence;
  const bool limited = arrival.timeout > Duration::zero() && arrival.remaining < Time::max() - now;
  const Time deadline = limited ? now + arrival.remaining : Time::max();
  entry = Entry{true, std::move(arrival), deadline};
  ++arrived_;
  return {};
}

std::vector<int> ArrivalTable::missing() const {
  std::vector<int> ranks;
  ranks.reserve(entries_.size() - arrived_);
  for (size_t rank = 0; rank < entries_.size(); ++rank)
    if (!entries_[rank].arrived) ranks.push_back(static_cast<int>(rank));
  return ranks;
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
    entry = Entry{};
  }
  arrived_ = 0;
  return descriptors;
}

}  // namespace dt
