#pragma once

#include "base/clock.h"
#include "comm/collective/engine_options.h"
#include "comm/collective/messages.h"
#include "comm/transport/message_link.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The peers that get a message without delay. The others get it once they have a connection.
enum class Recipients : uint8_t {
  all,        ///< connects with all
  connected,  ///< for messages that only ranks need which wait for this one
};

/// The other ranks: their links, and whether they are reachable.
///
///   present ─ link broken ▶ broken ─ dead_after ▶ gone: "connection to … lost"
///      └──── left notice ─┴─▶ leaving ─ link drained ▶ gone: "… has left the job"
///
/// A peer whose system is silent for dead_after is gone at once: "… lost: no answer for 5 s". A
/// rank that has left may have sent all that we need. So its bytes are read to the end first. Over
/// TCP this is the end of the stream, however late the network delivers it. One that has left
/// without a connection is gone at once.
///
/// A rank that waits for another one has a link to it, or connects. So each rank learns from those
/// that it waits for why they end, and no rank connects with all others.
class Peers {
 public:
  Peers(const EngineOptions& options, std::vector<EnginePeer> peers);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  size_t unasked_bytes_max() const { return unasked_bytes_max_; }
  /// "rank 3 (host node2)".
  std::string name(int rank) const;
  /// Returns the rank of a task, or -1.
  int rank_of(const TaskId& task) const;
  /// Checks a blamed rank that a peer sent. Fails with Errc::protocol unless it is a rank, or -1.
  Result<> check_blamed(int rank) const;
  /// The algorithms that the user has chosen for the job.
  const ChosenAlgorithms& algorithms() const { return algorithms_; }
  /// A number that is equal for ranks on one host.
  int host(int rank) const { return peers_[static_cast<size_t>(rank)].task.agent; }
  /// Returns null for this rank itself.
  MessageLink* link(int rank) { return peers_[static_cast<size_t>(rank)].messages.get(); }

  /// Connects the link to that rank, if it is not connected yet, and is not broken.
  void connect(int rank);
  /// Queues a control message. Does nothing when the peer is not reachable any more.
  void send(int rank, EngineMessageType type, uint32_t stream, ByteSpan payload,
            Recipients recipients = Recipients::all);
  void send_all(EngineMessageType type, uint32_t stream, ByteSpan payload,
                Recipients recipients = Recipients::all);

  /// Makes the next receive() read from that rank, also without a report. Returns false when its
  /// link needs reports.
  bool poll(int rank);
  /// Reads from the links on which something may have arrived; true if anything has.
  bool receive(MessageReceiver& receiver, Time now);
  /// Writes to the links for which something is queued; true if anything was sent.
  bool flush(Time now);
  /// True when nothing is queued for a reachable peer.
  bool all_sent();
  /// Marks the peers as gone whose time is over, and those that are silent.
  void settle(Time now);
  Time next_deadline();

  void left(int rank, Time now);
  /// Closes all links, so that the other ranks detect that this one cannot continue. Throws
  /// nothing.
  void close_all();
  /// True when this rank can neither receive from that rank nor send to it any more.
  bool gone(int rank) const { return peers_[static_cast<size_t>(rank)].gone; }
  bool has_left(int rank) const { return peers_[static_cast<size_t>(rank)].left; }
  /// Returns the one of these ranks that left first, or whose link broke first; -1 for none.
  int first_lost(std::span<const int> ranks) const;
  /// The reason, for people: "rank 3 (host b) has left the job".
  std::string gone_reason(int rank) const;

 private:
  struct Peer {
    TaskEntry task;
    std::unique_ptr<Link> link;
    std::unique_ptr<Session> session;
    std::unique_ptr<MessageLink> messages = nullptr;
    bool can_send = true;
    bool can_receive = true;
    bool left = false;
    bool gone = false;
    bool reports = false;                      ///< its link adds it to arrivals_
    std::string broken_why = {};               ///< set when the peer broke the protocol
    std::optional<Time> since = std::nullopt;  ///< broken since; or left, and silent since
  };

  bool receive_from(Peer& peer, MessageReceiver& receiver, Time now);
  bool flush_to(Peer& peer, Time now);
  void broken(Peer& peer, const Error& error, Time now);
  void close_link(Peer& peer);
  void check_answers(Time now);
  void unsettle(const Peer& peer);
  size_t index_of(const Peer& peer) const { return static_cast<size_t>(&peer - peers_.data()); }
  std::optional<Time> gone_at(const Peer& peer) const;

  int rank_;
  Duration dead_after_;
  size_t unasked_bytes_max_;
  ChosenAlgorithms algorithms_;
  std::vector<Peer> peers_;
  // A step costs what these hold, and not the number of ranks.
  std::shared_ptr<ReadySet> arrivals_;  ///< something may have arrived
  ReadySet unsent_;                     ///< something is queued
  ReadySet unanswered_;                 ///< bytes went over TCP and may not be acknowledged
  Time check_at_ = Time::max();         ///< when to check them
  ReadySet unsettled_;                  ///< has left or is broken, and is not gone
};

}  // namespace dt
