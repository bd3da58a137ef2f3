#pragma once

#include "base/clock.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "comm/transport/peer_handshake.h"
#include "comm/transport/tcp_silence.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The attempts of a task to reach one peer that has joined, at its addresses in turn.
///
///   pause ─▶ connecting ─▶ handshake ─▶ done
///     ▲──────────┴─ an error ──┘
///
/// The process of the peer may compute for hours before it answers, and its system takes the
/// connection for it. So only the silence of the peer's system has a limit. On this host, even that
/// means only that the queue of the peer's socket is full. A later attempt may find another socket
/// of the peer, see PeerListener. A peer that dials as well may refuse some attempts.
class PeerDial {
 public:
  struct Options {
    Claim claim;
    TaskId peer;
    std::vector<Address> addresses;  ///< at least one
    bool same_host = false;
    Duration dead_after = seconds(5);  ///< the limit
  };
  PeerDial(Options options, Time now);

  /// Returns -1 between two attempts.
  int fd() const { return attempt_ ? attempt_->fd() : -1; }
  short events() const { return attempt_ ? attempt_->events() : short{0}; }
  /// The time of the next advance(), also without an event.
  Time next_deadline() const { return next_; }
  /// True when the peer may regard the connection as complete, or soon will.
  bool committed() const { return attempt_ && attempt_->committed(); }
  /// Drops an attempt, because the peer connects. The next one comes soon, in case it does not.
  void yield(Time now);
  /// Advances as far as possible now; `ready` is true after an event. Returns the connection when
  /// it is complete, and null before. Fails with Errc::timeout when the system of the peer was
  /// silent for dead_after. Also when the peer has refused all attempts for so long. Also when
  /// nobody has listened at its addresses for two seconds. Fails with Errc::input without
  /// descriptors.
  Result<std::unique_ptr<AuthenticatedConnection>> advance(Time now, bool ready);

 private:
  bool has_failed(Time now) const;
  Result<> start(Time now);
  Result<> advance_attempt(Time now, bool ready);
  void connected(Time now);
  tl::unexpected<Error> no_room(Time now);
  void abort_attempt(const Error& why, Time now);
  const Address& address() const { return options_.addresses[number_ % options_.addresses.size()]; }
  Duration limit(Duration most) const;

  Options options_;
  std::unique_ptr<PeerHandshake> attempt_;
  size_t number_ = 0;            ///< of attempts that have failed
  Time next_;                    ///< of the next attempt, or of the next check of this one
  Time until_ = {};              ///< the end of this attempt; of its connect, at an only address
  Time answered_;                ///< when the system of the peer last owed nothing
  std::optional<Time> refused_;  ///< since then, by the peer
  std::optional<Time> closed_;   ///< since then, nobody listens at the addresses
  size_t closed_attempts_ = 0;   ///< since then
  TcpSilence silence_;           ///< of this attempt
  std::string failure_ = "no answer";
};

}  // namespace dt
