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
#include <string>
#include <vector>

namespace dt {

/// Where peers knock: the listeners of one task and the connections that have not proved themselves
/// yet, bounded in number and time. Strangers are dropped without a word.
class PeerListener {
 public:
  struct Options {
    Claim claim;
    std::vector<std::string> tcp_ips;  ///< listen there
    uint16_t held_port = 0;            ///< at this port, which somebody of ours holds; 0: any
    bool local = false;                ///< listen on an abstract Unix socket with a random name
    size_t pending_max = 128;          ///< beyond, the oldest that proved nothing is closed
    Duration timeout = seconds(5);     ///< for a connection to prove itself
  };
  static Result<PeerListener> open(Options options);

  const PeerEndpoint& endpoint() const { return endpoint_; }
  /// The earliest end of a pending connection's time.
  Time next_deadline() const;
  void collect_fds(std::vector<pollfd>& fds) const;

  /// Called for each peer that has proved itself: accepts or refuses it.
  using Judge = std::function<Result<>(PeerHandshake&)>;
  /// Accepts and advances all that can be; returns those that are done.
  Result<std::vector<std::unique_ptr<PeerHandshake>>> advance(Time now, const Judge& judge);

 private:
  explicit PeerListener(Options options) : options_(std::move(options)) {}
  Result<> accept_waiting(const Fd& listener, bool local, Time now);
  bool make_room(bool local);

  Options options_;
  PeerEndpoint endpoint_;
  std::vector<Fd> tcp_;
  Fd local_;
  std::optional<Time> closed_until_;                     ///< after a failure to accept
  std::vector<std::unique_ptr<PeerHandshake>> pending_;  ///< the oldest first
};

}  // namespace dt
