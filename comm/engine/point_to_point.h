#pragma once

#include "base/vector_queue.h"
#include "comm/collective/group_peers.h"
#include "comm/collective/operation.h"
#include "comm/collective/peers.h"
#include "comm/collective/pending_wait.h"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace dt {

/// Sends and receives between this rank and each other rank, matched in order of submission in
/// each group. Data
/// is sent only when the receiver has posted a fitting buffer. So it never blocks the frames behind
/// it on the link.
///
///   send:     waiting ─ offer ▶ offered ─ accept ▶ sending ▶ done
///                                  └─ refuse ▶ failed (another type, count or name)
///   receive:  posted ─ offer fits: accept ▶ receiving ▶ done
class PointToPoint {
 public:
  /// The maximum of messages under way to one peer; further ones wait at the sender.
  static constexpr size_t offers_max = 64;

  explicit PointToPoint(Peers& peers);

  void submit(std::shared_ptr<Operation> operation);
  /// Returns true if anything moved or ended.
  bool step(Time now);
  /// No pending operation has an earlier deadline. One that is done may have had this one.
  Time next_deadline() const { return earliest_; }
  bool idle() const;
  /// Appends the first pending send and the first pending receive of each peer.
  void add_waits(std::vector<PendingWait>& waits) const;
  /// Fails all pending operations.
  void fail_all(const OperationFailure& why);
  /// Fails the operations of a group, and those of its other members with this rank from now on.
  void leave_group(const GroupPeers& group, const OperationFailure& why);

  Result<> offer(const Message& message, ByteSpan payload);
  Result<> accept(const Message& message);
  Result<> refuse(const Message& message, ByteSpan payload);
  Result<> cancel(const Message& message, ByteSpan payload);
  Result<> left_group(const Message& message);
  Result<PayloadTarget> place(const Message& message);
  Result<> arrived(const Message& message);

 private:
  using Pending = std::shared_ptr<Operation>;
  struct Offered {
    uint32_t id = 0;
    Pending operation;
    bool accepted = false;
  };
  struct Offer {
    uint32_t id = 0;
    ElementType type = ElementType::float32;
    uint64_t count = 0;
    uint32_t group = 0;
    uint64_t name_hash = 0;     ///< of the whole name
    std::string name;           ///< its beginning
    OperationTerms terms = {};  ///< of opaque elements, or default ones
  };
  struct Receiving {
    uint32_t id = 0;
    Pending operation;  ///< null: it timed out, and the data is discarded
    size_t bytes = 0;
    size_t arrived = 0;
  };
  /// The messages between this rank and one other. At most offers_max are offered or receiving, so
  /// vectors suffice.
  struct Channel {
    int peer = 0;
    uint32_t next_id = 1;
    bool active = false;  ///< it is in active_
    VectorQueue<Pending> waiting = {};
    std::vector<Offered> offered = {};
    VectorQueue<Pending> posted = {};
    VectorQueue<Offer> offers = {};
    std::vector<Receiving> receiving = {};
    std::set<uint32_t> left_groups = {};  ///< the groups of this rank that the peer has left
  };

  PendingWait first_send(const Channel& channel) const;
  static PendingWait first_receive(const Channel& channel);
  Channel& channel(int rank) { return channels_[static_cast<size_t>(rank)]; }
  static bool busy(const Channel& channel);
  bool step_channel(Channel& channel, Time now);
  static Time next_deadline(const Channel& channel);
  bool expire_sends(Channel& channel, Time now);
  bool expire_receives(Channel& channel, Time now);
  bool make_offers(Channel& channel);
  bool match(Channel& channel);
  void match(Channel& channel, const Offer& offer, const Pending& operation);
  bool finish_sends(Channel& channel);
  bool fail(Channel& channel, const OperationFailure& why);
  void fail_group(Channel& channel, uint32_t group, const OperationFailure& why);
  OperationFailure left_by(const Channel& channel) const;
  OperationFailure late(const Channel& channel, const Operation& operation) const;
  std::string mismatch_text(const Channel& channel, const Offer& offer,
                            const OperationRequest& request) const;

  Peers& peers_;
  std::vector<Channel> channels_;   ///< by rank
  std::set<uint32_t> left_groups_;  ///< by this rank
  std::vector<int> active_;         ///< the ranks whose channels have pending operations
  Time earliest_ = Time::max();     ///< no pending operation has an earlier deadline
};

}  // namespace dt
