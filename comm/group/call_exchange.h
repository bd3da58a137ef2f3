#pragma once

#include "comm/collective/group_peers.h"

#include <cstdint>
#include <vector>

namespace dt {

/// The check that the members of a group make the same calls, without a round of its own. Each
/// member sends a hash of its call to some others. Data passes between two ranks only after one of
/// them has compared their hashes.
///
///   with_data:    sender ─ hash, data ▶ receiver, which compares
///   before_data:  receiver ─ hash ▶ sender, which compares; then data
///
/// Requires that every result depends on the input of every rank. Then the data of a result has
/// come from each rank through ranks that compared their hashes. So a rank that has its result
/// knows that all calls are equal.
///
/// A member is at most one collective ahead of this one, so there is one early call of each.
class CallExchange {
 public:
  enum class Order : uint8_t { with_data, before_data };

  /// Requires that `peers` outlives this object.
  explicit CallExchange(GroupPeers& peers);

  /// Begins the next collective. Returns false when an early call of another member differs.
  bool begin(uint64_t sequence, uint64_t hash, Order order);
  /// Begins a collective whose ranks have agreed already: all may send.
  void begin_agreed(uint64_t sequence);
  /// True when the senders of the current collective need permission.
  bool needs_permits() const { return !agreed_ && order_ == Order::before_data; }
  /// Permits these ranks to send.
  void permit(const std::vector<int>& senders);
  /// True when this rank may send data to that one. Sends the hash first where that is needed.
  bool may_send(int to);
  /// Takes the call of a member. Returns false when it is of the current collective and differs.
  bool note(int rank, uint64_t sequence, uint64_t hash);

 private:
  struct Heard {
    uint64_t sequence = 0;  ///< the last collective that the member has announced; 0: none
    uint64_t hash = 0;
  };

  void announce(int to);

  GroupPeers& peers_;
  std::vector<Heard> heard_;         ///< by rank
  std::vector<uint64_t> announced_;  ///< the last collective that this rank has announced, by rank
  uint64_t sequence_ = 0;            ///< of the current collective; 0: none
  uint64_t hash_ = 0;
  Order order_ = Order::with_data;
  bool agreed_ = false;
};

}  // namespace dt
