#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io/fd.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/secure/handshake.h"

#include <memory>
#include <optional>
#include <vector>

namespace dt {

/// A connection whose handshake is complete: ready to become a link.
struct AuthenticatedConnection {
  Fd socket;
  Handshake handshake;
  std::vector<Fd> passed_fds;  ///< descriptors from the peer, on a local socket
};

/// One connection before it is a link: the handshake, then on a local socket the exchange of
/// descriptors. Never blocks. Call advance() when poll(2) reports events().
///
///   connecting ─▶ handshake ─▶ (acceptor: proved ─▶ accept_peer | refuse_peer)
///                     ─▶ exchange of descriptors (local only) ─▶ done
class PeerHandshake {
 public:
  struct Options {
    Claim claim;
    Time deadline;
    bool local = false;                ///< on a Unix socket
    std::vector<int> passed_fds = {};  ///< descriptors for the peer, not owned; local only
    size_t passed_fds_expected = 0;
  };
  static Result<std::unique_ptr<PeerHandshake>> dial(Fd socket, const TaskId& peer,
                                                     Options options);
  static Result<std::unique_ptr<PeerHandshake>> accept(Fd socket, Options options);

  int fd() const { return socket_.get(); }
  Time deadline() const { return options_.deadline; }
  short events() const;
  /// Dialer over TCP: no connection yet.
  bool connecting() const { return connecting_; }
  /// Reads and writes as much as possible now. Any error is final.
  Result<> advance();

  /// Acceptor: the peer has proved the token and waits for accept_peer() or refuse_peer().
  bool proved() const { return handshake_.proved(); }
  /// Acceptor: the peer has not proved the token yet.
  bool unproved() const { return !handshake_.proved() && !handshake_.done(); }
  /// True when the other side may regard the connection as complete, or soon will. A timeout of
  /// this side would then leave the other one with a connection that nobody serves.
  bool committed() const { return handshake_.awaits_verdict() || handshake_.done(); }
  const TaskId& peer() const { return handshake_.peer(); }
  uint32_t peer_attempt() const { return handshake_.peer_attempt(); }
  bool local() const { return options_.local; }
  /// Accepts the peer. On a local socket, sends it `passed_fds` and expects so many from it.
  Result<> accept_peer(std::vector<int> passed_fds, size_t passed_fds_expected);
  void refuse_peer(std::string_view reason);

  bool done() const;
  /// Requires done().
  AuthenticatedConnection take();

 private:
  PeerHandshake(Fd socket, Handshake handshake, Options options, bool connecting);
  Result<> receive();
  Result<> flush();
  Result<> exchange_fds();

  Fd socket_;
  Handshake handshake_;
  Options options_;
  bool connecting_;
  Bytes out_;
  std::vector<Fd> passed_fds_;
  bool fds_sent_ = false;
  bool fds_received_ = false;
};

}  // namespace dt
