#pragma once

#include "base/vector_queue.h"
#include "comm/collective/group_peers.h"
#include "comm/collective/hierarchical_communicator.h"
#include "comm/collective/operation.h"
#include "comm/collective/pending_wait.h"
#include "comm/collective/scheduled_communicator.h"
#include "comm/collective/shared_communicator.h"
#include "comm/collective/terms.h"
#include "comm/group/agreement.h"
#include "comm/group/call_exchange.h"
#include "comm/group/time_limits.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The collectives of one group, one at a time in order of submission. The ranks compare hashes of
/// their calls while data moves: in shared memory, or over links (see CallExchange).
///
/// If two calls differ, or if a collective has not ended after a while, the ranks agree. Every rank
/// sends rank 0 a descriptor of its call. Rank 0 sends all a verdict, which names the ranks that
/// differ. So rank 0 also knows which ranks have not made the call. Over links, a collective whose
/// result does not depend on every rank begins with the agreement.
///
///   queued ▶ running ▶ done
///               ├─ late ▶ still running; rank 0 is informed
///               └─ the calls differ ▶ agreeing ─ mismatch ▶ failed; the next one begins
///   rooted over links:  queued ▶ agreeing ─ equal ▶ running ▶ done
///
/// A timeout or the loss of a rank stops all collectives from that one on, on every rank. The rank
/// that detects it sends a stop to all, and every rank forwards it once. The forwarding is needed,
/// because a rank does not read a link whose data comes too early. So a stop behind that data is
/// unread. The rank that the reader waits for forwards the stop.
class Collectives {
 public:
  /// `area` is the memory of the members on this rank's host; null if there is none.
  Collectives(GroupPeers peers, std::shared_ptr<SharedArea> area);
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
  bool quiet() const { return idle() && agreement_.empty(); }
  /// Fails all pending operations. Nothing may be submitted afterwards.
  void fail_all(const OperationFailure& why);
  /// Fails all pending operations, and those of the other members from here on. Nothing may be
  /// submitted afterwards.
  void leave();

  /// Sends a control message of this group.
  void send(int to, EngineMessageType type, ByteSpan payload) {
    peers_.send(to, type, first_sequence(), payload);
  }
  void connect(int rank) { peers_.connect(rank); }
  /// Fails all pending operations and all later ones with that reason, on every rank.
  void stop_all(const OperationFailure& why);
  /// Returns why all operations fail from now on; null while they do not.
  const CollectiveStop* stopped() const { return stop_ ? &*stop_ : nullptr; }

  Result<> call(const Message& message, ByteSpan payload, Time now);
  Result<> roll_call(const Message& message, Time now);
  Result<> descriptor(const Message& message, ByteSpan payload, Time now);
  Result<> verdict(const Message& message, ByteSpan payload);
  Result<> stop(ByteSpan payload);
  /// `hold` takes data that comes early out of the link, see ScheduledCommunicator.
  Result<PayloadTarget> place(const Message& message, bool hold);
  Result<> arrived(const Message& message) { return scheduled_.arrived(in_group(message)); }

  /// Appends the first pending collective.
  void add_wait(std::vector<PendingWait>& waits) const;
  /// Returns the job's ranks for which the first pending collective waits now.
  std::vector<int> awaited() const;
  /// Returns the job's rank whose data the first pending collective waits for, or -1.
  int data_from() const;
  /// Returns "barrier #11", the last collective before the first pending one; empty for none.
  std::string last_label() const;

  /// Returns the sequence number of a collective that fails at once and is never queued.
  uint64_t take_sequence() { return ++submitted_; }

 private:
  enum class Phase { queued, agreeing, running };  ///< of the first in the queue
  /// How this rank knows that the calls of all are equal.
  enum class Check : uint8_t {
    exchange,   ///< not yet: hashes travel with the data
    round,      ///< not yet: this rank has sent its descriptor to rank 0
    differing,  ///< they are not: a hash differs, and this rank has sent its descriptor
    done,
  };

  Message in_group(Message message) const;
  uint64_t first_sequence() const;
  Operation& front() { return *queue_.front(); }
  const Operation& front() const { return *queue_.front(); }
  bool step_front(Time now);
  void begin(Time now);
  void begin_over_links(Time now);
  ScalingRank self() const { return {peers_.rank(), peers_.size()}; }
  void agree_first(CallState state, Time now);
  void report(CallState state, Time now);
  void differ(Time now);
  bool differ_in_memory(Time now);
  void fail_unexplained();
  bool report_late(Time now);
  void answer(uint64_t sequence, Time now);
  void all_equal(uint64_t sequence);
  bool agree();
  bool run(Time now);
  bool advance(Time now);
  bool decide();
  void apply(const Verdict& verdict);
  void play_agreed();
  void start_over_links();
  void permit_senders();
  bool over_links() const { return communicator_ != shared_.get(); }
  void pop_front();

  void expire(Time now);
  bool is_first_caller() const;
  Time front_expires_at() const;
  void time_out(const Operation& operation);
  bool stop_without_needed(Time now);
  bool may_miss_verdict() const;
  bool may_know_more(int rank, Time now);
  bool stopped(uint64_t sequence) const;
  bool agreement_stopped() const;
  void stop_from(CollectiveStop stop, Recipients recipients = Recipients::all);
  bool apply_stop();
  void note_limits();

  GroupPeers peers_;
  CallExchange exchange_;
  ScheduledCommunicator scheduled_;
  std::unique_ptr<SharedCommunicator> shared_;       ///< null: not all ranks share memory
  std::unique_ptr<HierarchicalCommunicator> hosts_;  ///< null unless those of each host do
  Communicator* communicator_ = &scheduled_;         ///< of the first operation in the queue
  bool permits_ = false;  ///< large data of the first operation needs permission
  Agreement agreement_;   ///< used by rank 0 only
  VectorQueue<std::shared_ptr<Operation>> queue_;
  TimeLimits limits_;  ///< of queue_
  Phase phase_ = Phase::queued;
  Check check_ = Check::done;            ///< of the first in the queue
  Time leaver_blamed_at_ = Time::max();  ///< not sooner, in the first collective
  Time late_ = Time::max();              ///< when rank 0 is informed of it
  uint64_t asked_ = 0;                   ///< rank 0 has asked for the descriptor of this one
  Time answers_end_ = {};                ///< on rank 0: until then, ranks may answer
  bool differed_ = false;                ///< data of a collective that failed may still arrive
  uint64_t submitted_ = 0;
  std::optional<CollectiveStop> stop_;
  OperationKind last_kind_ = OperationKind::barrier;  ///< of the last collective that ended
  std::string last_name_;
};

}  // namespace dt
