#pragma once

#include "base/vector_queue.h"
#include "comm/engine/arrival_table.h"
#include "comm/engine/group_peers.h"
#include "comm/engine/operation.h"
#include "comm/engine/scheduled_communicator.h"
#include "comm/engine/shared_communicator.h"

#include <memory>
#include <optional>

namespace dt {

/// The collectives of one group, one at a time in order of submission. The ranks compare their
/// calls before any data moves. Ranks of one host do so in shared memory. Others agree: every rank
/// sends rank 0 a descriptor of its call, and rank 0 sends all a verdict: start, or how the calls
/// differ. Ranks whose calls differ in shared memory also agree, because the verdict names the
/// ranks that differ.
///
///   over links:     queued ▶ agreeing ─ start ▶ running ▶ done
///                               └─ mismatch ▶ failed; the next one begins
///   shared memory:  queued ▶ running ▶ done
///                               └─ the calls differ ▶ agreeing ─ mismatch ▶ failed
///
/// A timeout or the loss of a rank stops all collectives from that one on, on every rank. The rank
/// that detects it sends a stop to all, and every rank forwards it once. The forwarding is needed:
/// a rank does not read a link whose data comes too early, so a stop behind that data is unread.
/// The rank that it waits for forwards the stop.
class Collectives {
 public:
  /// `shared` is the memory of all members of the group; null if there is none.
  Collectives(GroupPeers peers, std::shared_ptr<SharedArea> shared);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  const GroupPeers& peers() const { return peers_; }
  void submit(std::shared_ptr<Operation> operation);
  /// Returns true if anything moved or ended.
  bool step(Time now);
  bool has_memory() const { return shared_ != nullptr; }
  /// True when the first operation needs shared memory only, and no frame.
  bool runs_in_memory() const;
  /// Moves data of that operation alone; true if anything moved. Requires runs_in_memory(). Time
  /// limits and lost ranks are left to step().
  bool spin(Time now);
  Time next_deadline() const;
  bool idle() const { return queue_.empty(); }
  /// True when no step is needed until the next submission or message.
  bool quiet() const { return idle() && arrivals_.empty(); }
  /// Fails all pending operations. Nothing may be submitted afterwards.
  void fail_all(const OperationFailure& why);
  /// Fails all pending operations, and those of the other members from here on. Nothing may be
  /// submitted afterwards.
  void leave();

  Result<> descriptor(const Message& message, ByteSpan payload, Time now);
  Result<> verdict(const Message& message, ByteSpan payload);
  Result<> stop(ByteSpan payload);
  /// `hold` takes data that comes early out of the link, see ScheduledCommunicator.
  Result<PayloadTarget> place(const Message& message, bool hold);
  Result<> arrived(const Message& message) { return scheduled_.arrived(in_group(message)); }

  /// Returns the sequence number of a collective that fails at once and is never queued.
  uint64_t take_sequence() { return ++submitted_; }

 private:
  enum class Phase { queued, agreeing, running };  ///< of the first in the queue
  struct Stop {
    uint64_t from = 0;     ///< the first collective that fails
    OperationFailure why;  ///< of that one
    std::string later;     ///< the reason for all later ones
  };

  Message in_group(Message message) const;
  Operation& front() { return *queue_.front(); }
  const Operation& front() const { return *queue_.front(); }
  bool step_front(Time now);
  void begin(Time now);
  void announce(Time now);
  bool agree();
  bool run(Time now);
  bool advance(Time now);
  void decide();
  void apply_verdict(const OperationFailure* mismatch);
  void play_scheduled();
  void pop_front();

  void expire(Time now);
  bool is_first_caller() const;
  Time expires_at(const Operation& operation) const;
  void time_out(const Operation& operation);
  void time_out_missing(int rank);
  std::string missing_text(Duration timeout, const std::vector<int>& missing) const;
  void check_missing();
  bool stop_without_needed();
  bool stopped(uint64_t sequence) const;
  void stop_from(Stop stop);
  bool apply_stop();

  GroupPeers peers_;
  ScheduledCommunicator scheduled_;
  std::unique_ptr<SharedCommunicator> shared_;  ///< null: ranks are on several hosts
  Communicator* communicator_ = &scheduled_;    ///< of the first operation in the queue
  ArrivalTable arrivals_;                       ///< used by rank 0 only
  VectorQueue<std::shared_ptr<Operation>> queue_;
  Phase phase_ = Phase::queued;
  uint64_t submitted_ = 0;
  std::optional<Stop> stop_;
};

}  // namespace dt
