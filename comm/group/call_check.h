#pragma once

#include "comm/collective/group_peers.h"
#include "comm/group/agreement.h"
#include "comm/group/call_exchange.h"
#include "comm/group/collective_stop.h"
#include "comm/group/operation_queue.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// The check that all ranks make the same call of the first collective of a group. The hashes of
/// the calls travel with the data, see CallExchange. If two of them differ, or if a collective has
/// not ended after a while, the ranks agree. Every rank sends rank 0 a descriptor of its call.
/// Rank 0 sends all a verdict, which names the ranks that differ. So rank 0 also knows which ranks
/// have not made the call.
///
///   none ─ begin ▶ exchanging ─ after a while ▶ late ─ equal ▶ equal
///                      ├────────────────────────┴─ a hash differs ▶ differing ─▶ mismatch
///                      └─ may not run yet ▶ agreeing ─ equal ▶ equal
class CallCheck {
 public:
  enum class State : uint8_t {
    none,        ///< the first collective has not begun
    exchanging,  ///< it runs, and hashes travel with the data
    late,        ///< it runs, and this rank has sent its descriptor to rank 0
    agreeing,    ///< this rank has sent its descriptor, and runs nothing before the verdict
    differing,   ///< the same, because a hash differs
    equal,       ///< it runs; the calls are equal, or ranks compare them in shared memory
  };

  /// Requires that all of these outlive this object.
  CallCheck(GroupPeers& peers, const OperationQueue& queue, GroupStop& stop);

  State state() const { return state_; }
  /// True when data of the first collective moves.
  bool runs() const {
    return state_ == State::exchanging || state_ == State::late || state_ == State::equal;
  }
  bool awaits_verdict() const { return state_ == State::agreeing || state_ == State::differing; }
  /// True when the first collective has begun, and its calls may still differ.
  bool is_open() const { return state_ != State::none && state_ != State::equal; }

  /// Begins to compare the hashes. Returns false when an early call of another rank differs.
  bool begin_exchange();
  /// The first collective runs: see report_late().
  void run(Time now);
  /// The first collective runs without a comparison of hashes over links.
  void run_equal() { state_ = State::equal; }
  /// The same, and the ranks have agreed: all may send.
  void run_agreed();
  /// Begins the agreement, before the collective runs, or because the calls differ.
  void agree(Time now) { agree_as(State::agreeing, CallState::waits, now); }
  void differ(Time now) { agree_as(State::differing, CallState::differs, now); }
  /// The first collective has ended here with a result.
  void settle() { agreement_.settle(queue_.first_sequence()); }
  /// There is no first collective any more, or it has not begun.
  void reset() { state_ = State::none; }
  /// Raises a stop: the calls differ, and no descriptor shows how.
  void fail_unexplained();

  bool needs_permits() const { return exchange_.needs_permits(); }
  /// Permits the ranks to send this one large data.
  void permit(const std::vector<int>& senders) { exchange_.permit(senders); }
  bool may_send(int to) { return exchange_.may_send(to); }
  /// Rank 0: returns the verdict when all have arrived at the first collective.
  std::optional<Verdict> decide();
  /// Returns the ranks whose descriptor has not arrived. Only for rank 0.
  std::vector<int> missing() const { return agreement_.missing(); }
  bool quiet() const { return agreement_.empty(); }

  /// Informs rank 0 of a late collective. On rank 0, raises a stop without ranks that are missing.
  void expire(Time now);
  Time next_deadline() const;

  /// Returns false when the call differs from this rank's call of the first collective.
  Result<bool> call(const Message& message, ByteSpan payload);
  Result<> roll_call(const Message& message, Time now);
  Result<> descriptor(const Message& message, ByteSpan payload, Time now);

 private:
  void agree_as(State state, CallState reported, Time now);
  void report(CallState reported, Time now);
  void answer(uint64_t sequence, Time now);
  void all_equal(uint64_t sequence);
  bool agreement_stopped() const;

  GroupPeers& peers_;
  const OperationQueue& queue_;
  GroupStop& stop_;
  CallExchange exchange_;
  Agreement agreement_;  ///< used by rank 0 only
  State state_ = State::none;
  Time late_ = Time::max();  ///< when rank 0 is informed of the first collective
  uint64_t asked_ = 0;       ///< rank 0 has asked for the descriptor of this one
};

}  // namespace dt
