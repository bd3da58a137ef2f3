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

/// A connection that has been greeted: ready to become a link.
struct AuthenticatedConnection {
  Fd socket;
  Handshake handshake;
  std::vector<Fd> passed_fds;  ///< descriptors from the peer, on a local socket
};

/// One connection on its way to be a link: the handshake, and on a local socket then the exchange
/// of descriptors. Never blocks: advance() when poll(2) reports events().
///
///   connecting ─▶ handshake ─▶ (acceptor: proved ─▶ accept_peer | refuse_peer) ─▶ gifts ─▶ done
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
  /// Reads and writes what goes now. Any error is final.
  Result<> advance();

  /// Acceptor: the peer has proved itself and waits for our word.
  bool proved() const { return handshake_.proved(); }
  /// Acceptor: the peer has not proved itself yet.
  bool unproved() const { return !handshake_.proved() && !handshake_.done(); }
  const TaskId& peer() const { return handshake_.peer(); }
  bool local() const { return options_.local; }
  /// What an accepted peer is given.
  Result<> accept_peer(std::vector<int> passed_fds, size_t passed_fds_expected);
  void refuse_peer(std::string_view reason);

  bool done() const;
  /// Once done.
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
