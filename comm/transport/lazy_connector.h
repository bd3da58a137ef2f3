#pragma once

#include "base/clock.h"
#include "base/exit_guard.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/peer_dial.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/peer_listener.h"
#include "comm/transport/ready_set.h"
#include "comm/transport/tcp_socket.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <poll.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// Connects this task with others after all have joined. It dials a peer when the link is first
/// used here, and accepts the peers that dial this task.
///
/// Two tasks may dial each other at once. An attempt whose peer has no proof yet makes room for
/// that of the peer. When both peers have one, the task that dials() names refuses, and the other
/// one accepts (rendezvous/cluster/task.h).
class LazyConnector {
 public:
  struct Options {
    Claim claim;
    TaskEntry self;
    Duration dead_after = seconds(5);
    size_t peers = 0;  ///< the calls of add()
    Fd wake = {};      ///< rung when a link is first used, which may be in another thread
  };
  LazyConnector(Options options, PeerListener listener);
  LazyConnector(const LazyConnector&) = delete;
  LazyConnector& operator=(const LazyConnector&) = delete;
  ~LazyConnector();

  /// Returns the socket of a new link to that peer. advance() reports its `number`.
  std::shared_ptr<TcpSocket> add(size_t number, TaskEntry task, PeerEndpoint endpoint);

  /// True when a link has been used first since the last advance().
  bool asked() const { return requests_->any.load(); }
  /// True when all links have been connected, so that no connection is expected.
  bool complete() const { return complete_; }
  /// True while connections are being made, so that events of collect_fds() and the time matter.
  bool active() const { return !dialed_.empty() || listener_.any_pending() || listener_.paused(); }
  const PeerListener& listener() const { return listener_; }
  Time next_deadline() const;
  void collect_fds(std::vector<pollfd>& fds) const;
  /// Takes what poll(2) has reported for collect_fds(); true if anything.
  bool take_events(std::span<const pollfd> fds);
  /// Accepts and dials, unless the process has begun to exit. Returns the numbers of the sockets
  /// that have opened.
  Result<std::vector<size_t>> advance(Time now);

 private:
  struct Peer {
    size_t number;
    TaskEntry task;
    PeerEndpoint endpoint;
    std::shared_ptr<TcpSocket> socket;
    std::optional<PeerDial> dial = {};
    bool ready = false;  ///< dial->advance() may have an effect before its time
  };
  /// The links that were used first. They may outlive this object.
  struct Requests {
    Requests(size_t peers, Fd fd) : indices(peers), wake(std::move(fd)) {}
    ReadySet indices;
    std::atomic<bool> any = false;
    Fd wake;
  };
  void take_requests(Time now);
  Result<> admit(PeerHandshake& handshake, Time now);
  void advance_dial(Peer& peer, Time now);
  void open(Peer& peer, AuthenticatedConnection connection);
  bool same_host(const Peer& peer) const { return peer.task.agent == options_.self.agent; }
  Peer* find(const TaskId& id);

  Options options_;
  ExitGuard guard_;  ///< of the handshakes
  PeerListener listener_;
  std::shared_ptr<Requests> requests_;
  std::vector<Peer> peers_;
  std::vector<size_t> dialed_;  ///< the indices of those with a dial
  std::vector<size_t> opened_;  ///< in this call of advance()
  bool complete_ = false;
};

}  // namespace dt
