#pragma once

#include "comm/engine/arrival_table.h"
#include "comm/engine/operation.h"
#include "comm/engine/peers.h"
#include "comm/engine/scheduled_communicator.h"

#include <deque>
#include <memory>
#include <optional>

namespace dt {

/// The collectives of one engine, one at a time in order of submission. Each begins with an
/// agreement: every rank tells rank 0 what it wants, and rank 0 tells all to go or how they differ,
/// so that no byte of data moves for nothing.
///
///   queued ▶ agreeing ─ go ▶ running ▶ done
///               └─ mismatch ▶ failed; the next one begins
///
/// A timeout or the loss of a rank stops all collectives from that one on, on every rank: whoever
/// finds out tells everybody, and everybody passes it on once. A rank that is waiting for data
/// reads no further on links whose data comes too early, so that it may hear of the stop only from
/// the one that it is waiting for.
class Collectives {
 public:
  explicit Collectives(Peers& peers);

  void submit(std::shared_ptr<Operation> operation);
  /// True if anything moved or ended.
  bool step(Time now);
  Time next_deadline() const;
  bool idle() const { return queue_.empty(); }
  /// Ends all that is pending; nothing may be submitted afterwards.
  void fail_all(const OperationFailure& why);

  Result<> descriptor(const Message& message, ByteSpan payload, Time now);
  Result<> verdict(const Message& message, ByteSpan payload);
  Result<> stop(ByteSpan payload);
  Result<PayloadTarget> place(const Message& message);
  Result<> arrived(const Message& message) { return communicator_.arrived(message); }

  /// The number of a collective that is submitted too late to be queued.
  uint64_t take_sequence() { return ++submitted_; }

 private:
  enum class Phase { queued, agreeing, running };  ///< of the first in the queue
  struct Stop {
    uint64_t from = 0;     ///< the first collective that ends by it
    OperationFailure why;  ///< of that one
    std::string later;     ///< the reason of all after it
  };

  Operation& front() { return *queue_.front(); }
  const Operation& front() const { return *queue_.front(); }
  bool step_front(Time now);
  void begin(Time now);
  bool agree();
  bool run(Time now);
  void decide();
  void apply_verdict(const OperationFailure* mismatch);
  void pop_front();

  void expire(Time now);
  Time expires_at(const Operation& operation) const;
  void time_out(const Operation& operation);
  void time_out_missing(int rank);
  void check_missing();
  bool stopped(uint64_t sequence) const;
  void stop_from(Stop stop);
  bool apply_stop();

  Peers& peers_;
  ScheduledCommunicator communicator_;
  ArrivalTable attendance_;  ///< rank 0 alone uses it
  std::deque<std::shared_ptr<Operation>> queue_;
  Phase phase_ = Phase::queued;
  uint64_t submitted_ = 0;
  std::optional<Stop> stop_;
};

}  // namespace dt
