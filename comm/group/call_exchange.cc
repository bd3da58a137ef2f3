#include "comm/group/call_exchange.h"

#include <algorithm>
#include <span>

namespace dt {

CallExchange::CallExchange(GroupPeers& peers)
    : peers_(peers),
      heard_(static_cast<size_t>(peers.size())),
      announced_(static_cast<size_t>(peers.size())) {
}

bool CallExchange::begin(uint64_t sequence, uint64_t hash, Order order) {
  sequence_ = sequence;
  hash_ = hash;
  order_ = order;
  agreed_ = false;
  return std::none_of(heard_.begin(), heard_.end(), [&](const Heard& heard) {
    return heard.sequence == sequence && heard.hash != hash;
  });
}

void CallExchange::begin_agreed(uint64_t sequence) {
  sequence_ = sequence;
  agreed_ = true;
}

void CallExchange::permit(const std::vector<int>& senders) {
  for (const int rank : senders)
    announce(rank);
}

bool CallExchange::may_send(int to) {
  if (agreed_) return true;
  if (order_ == Order::before_data) return heard_[static_cast<size_t>(to)].sequence >= sequence_;
  announce(to);
  return true;
}

void CallExchange::announce(int to) {
  uint64_t& announced = announced_[static_cast<size_t>(to)];
  if (announced == sequence_) return;
  announced = sequence_;
  peers_.send(to, EngineMessageType::call, sequence_, std::as_bytes(std::span(&hash_, 1)));
}

bool CallExchange::note(int rank, uint64_t sequence, uint64_t hash) {
  heard_[static_cast<size_t>(rank)] = {sequence, hash};
  return agreed_ || sequence != sequence_ || hash == hash_;
}

}  // namespace dt
