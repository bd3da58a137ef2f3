#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/peer_handshake.h"
#include "rendezvous/secure/handshake.h"

#include <poll.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The listening sockets of one task, and the connections that have not proved the token yet. These
/// are limited in number and time. A connection without the token is closed without a reply.
class PeerListener {
 public:
  struct Options {
    Claim claim;
    std::vector<std::string> tcp_ips;  ///< addresses to listen at
    uint16_t held_port = 0;            ///< the port, held for this task; 0: any
    size_t unaccepted_max = 0;         ///< TCP connections that may wait for the next advance()
    bool local = false;                ///< listen on an abstract Unix socket with a random name
    size_t pending_max = 128;          ///< beyond it, the oldest unproved connection is closed
    Duration timeout = seconds(5);     ///< for a connection to prove the token
  };
  static Result<PeerListener> open(Options options);
  /// How many sockets open() makes for each address. Several share a port, so that their queues
  /// hold the connections of all peers while this process computes.
  static size_t sockets_for(size_t unaccepted_max);

  const PeerEndpoint& endpoint() const { return endpoint_; }
  /// The earliest deadline of a pending connection, or of the pause after a failure to accept.
  Time next_deadline() const;
  void collect_fds(std::vector<pollfd>& fds) const;
  /// True while connections have not completed their handshakes.
  bool any_pending() const { return !pending_.empty(); }
  /// True for a short time after a failure to accept. Connections then wait.
  bool paused() const { return closed_until_.has_value(); }
  const std::vector<Fd>& tcp() const { return tcp_; }
  /// Called when all peers on this host are connected.
  void close_local();
  /// Closes the connections that have not completed their handshakes.
  void drop_pending() { pending_.clear(); }
  /// Closes all. Forked children may hold copies of the sockets, but no peer can connect to them.
  void close();
  /// Takes what poll(2) has reported for the descriptors of collect_fds(): the next advance() reads
  /// from no other connection. Without this call it tries all of them.
  void take_events(std::span<const pollfd> fds);

  /// Called for each peer that has proved the token: accepts or refuses it.
  using AdmitPeer = std::function<Result<>(PeerHandshake&)>;
  /// Accepts connections and advances their handshakes; returns the complete ones.
  Result<std::vector<std::unique_ptr<PeerHandshake>>> advance(Time now, const AdmitPeer& admit);

 private:
  struct Pending {
    std::unique_ptr<PeerHandshake> handshake;
    bool ready = true;  ///< advance() may have an effect
  };

  explicit PeerListener(Options options) : options_(std::move(options)) {}
  Result<> listen_at(const std::string& ip);
  Result<> accept_waiting(const Fd& listener, bool local, Time now);
  bool make_room(bool local);

  Options options_;
  PeerEndpoint endpoint_;
  std::vector<Fd> tcp_;
  Fd local_;
  std::optional<Time> closed_until_;  ///< after a failure to accept
  std::vector<Pending> pending_;      ///< the oldest first
};

}  // namespace dt
