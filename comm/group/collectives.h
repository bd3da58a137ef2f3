#pragma once

#include "comm/collective/group_peers.h"
#include "comm/collective/operation.h"
#include "comm/collective/pending_wait.h"
#include "comm/group/call_check.h"
#include "comm/group/collective_stop.h"
#include "comm/group/group_communicators.h"
#include "comm/group/operation_queue.h"
#include "comm/group/watchdog.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// The collectives of one group, one at a time in order of submission. The ranks compare hashes of
/// their calls while data moves: in shared memory, or over links. See CallCheck. Over links, a
/// collective whose result does not depend on every rank begins with the agreement.
///
///   queued ▶ running ▶ done
///               ├─ late ▶ still running; rank 0 is informed
///               └─ the calls differ ▶ agreeing ─ mismatch ▶ failed; the next one begins
///   rooted over links:  queued ▶ agreeing ─ equal ▶ running ▶ done
///
/// A timeout or the loss of a rank stops all collectives from that one on, on every rank. See
/// Watchdog and GroupStop.
class Collectives {
 public:
  /// `area` is the memory of the members on this rank's host; null if there is none.
  Collectives(GroupPeers peers, std::shared_ptr<SharedArea> area);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  const GroupPeers& peers() const { return peers_; }
  void submit(std::shared_ptr<Operation> operation) { queue_.push(std::move(operation)); }
  /// Returns true if anything moved or ended.
  bool step(Time now);
  bool has_memory() const { return communicators_.share_memory(); }
  /// True when the first operation needs shared memory only, and no frame.
  bool runs_in_memory() const;
  /// Moves data of that operation alone; true if anything moved. Requires runs_in_memory(). Time
  /// limits and lost ranks are left to step().
  bool spin(Time now);
  Time next_deadline() const { return std::min(check_.next_deadline(), watchdog_.next_deadline()); }
  bool idle() const { return queue_.empty(); }
  /// True when no step is needed until the next submission or message.
  bool quiet() const { return idle() && check_.quiet(); }
  /// Fails all pending operations. Nothing may be submitted afterwards.
  void fail_all(const OperationFailure& why);
  /// Fails all pending operations, and those of the other members from here on. Nothing may be
  /// submitted afterwards.
  void leave();

  /// Fails all pending operations and all later ones with that reason, on every rank.
  void stop_all(const OperationFailure& why) { stop_.raise(queue_.first_sequence(), why); }
  /// Returns why all operations fail from now on; null while they do not.
  const CollectiveStop* stopped() const { return stop_.known(); }

  Result<> call(const Message& message, ByteSpan payload, Time now);
  Result<> roll_call(const Message& message, Time now) { return check_.roll_call(message, now); }
  Result<> descriptor(const Message& message, ByteSpan payload, Time now) {
    return check_.descriptor(message, payload, now);
  }
  Result<> verdict(const Message& message, ByteSpan payload);
  Result<> stop(ByteSpan payload);
  /// `hold` takes data that comes early out of the link, see ScheduledCommunicator.
  Result<PayloadTarget> place(const Message& message, bool hold);
  Result<> arrived(const Message& message) {
    return communicators_.links().arrived(in_group(message));
  }

  /// Appends the first pending collective.
  void add_wait(std::vector<PendingWait>& waits) const;
  /// Returns the job's ranks for which the first pending collective waits now.
  std::vector<int> awaited() const;
  /// Returns the job's rank whose data the first pending collective waits for, or -1.
  int data_from() const;
  /// Returns "barrier #11", the last collective before the first pending one; empty for none.
  std::string last_label() const { return queue_.last_label(); }

  /// Returns the sequence number of a collective that fails at once and is never queued.
  uint64_t take_sequence() { return queue_.take_sequence(); }

 private:
  bool step_front(Time now);
  void begin(Time now);
  void begin_over_links(Time now);
  void run_agreed();
  void differ(Time now);
  void differ_in_memory(Time now);
  bool advance(Time now);
  bool decide();
  void apply(const Verdict& verdict);
  void cancel();
  bool apply_stop();
  /// The message with its sender's rank in the group.
  Message in_group(Message message) const;

  GroupPeers peers_;
  OperationQueue queue_;
  GroupStop stop_;
  CallCheck check_;
  GroupCommunicators communicators_;
  Watchdog watchdog_;
  bool differed_ = false;  ///< data of a collective that failed may still arrive
};

}  // namespace dt
