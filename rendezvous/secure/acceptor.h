#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/secure/deadlines.h"
#include "rendezvous/secure/handshake.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace dt {

/// Listens, and performs the handshake on each connection. Before a peer has proved the token, it
/// costs one descriptor, one timer and under 300 bytes. A time limit ends that. No byte behind the
/// handshake is read.
class Acceptor {
 public:
  /// Receives connections with another protocol than our handshake, which have proved nothing.
  struct UnauthenticatedHandler {
    std::function<bool(std::byte first)> begin_with;
    /// Fails when the connection is refused. `from` is empty, or names the other side of an
    /// adopted connection.
    std::function<Result<>(Fd connection, ByteSpan begun, const std::string& from)> take;
  };
  struct Options {
    Address address;
    Claim claim;
    Duration handshake_timeout = seconds(5);
    Duration dead_after = seconds(5);
    size_t pending_max = 128;  ///< handshakes at once; beyond it, the oldest is closed
    UnauthenticatedHandler unauthenticated = {};  ///< empty: such connections are rejected
    std::string name = "rendezvous";              ///< in warnings
  };
  /// The peer has proved the token and waits for accept_peer() or refuse_peer().
  using OnProved = std::function<void(Fd connection, Handshake handshake)>;

  static Result<std::unique_ptr<Acceptor>> listen(Loop& loop, Options options, Log& log,
                                                  OnProved on_proved);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  const Address& address() const { return options_.address; }
  /// Performs the handshake on a non-blocking connection. `from` names its other side in warnings;
  /// when empty, the address does.
  void add(Fd connection, std::string from);
  /// Sets the claim that peers must make from now on; closes the connections under way.
  void set_claim(Claim claim, size_t pending_max);
  /// No handshake times out until restart_deadlines(), which gives each the whole time again.
  void suspend_deadlines() { deadlines_.suspend(); }
  void restart_deadlines() { deadlines_.restart(); }
  size_t pending() const { return pending_.size(); }
  uint64_t accepted() const { return accepted_; }
  uint64_t rejected() const { return rejected_; }

 private:
  struct Pending {
    Fd connection;
    std::string from;  ///< empty: use the address
    Handshake handshake;
    bool silent = true;  // no byte has arrived
    Watch watch;
    Bytes unsent = {};
  };

  Acceptor(Loop& loop, Options options, Log& log, OnProved on_proved);
  void accept_some();
  /// Sends as much as possible; false when the peer is gone.
  static bool send_unsent(Pending& pending);
  void make_room();
  /// Removes a pending connection and its watch, so that the descriptor can be used elsewhere.
  Pending take(uint64_t id);
  void readable(uint64_t id);
  void hand_over(uint64_t id, ByteSpan begun);
  void hung_up(uint64_t id);
  void reject(uint64_t id, const std::string& why);
  void warn(std::string text);

  Loop& loop_;
  Options options_;
  Log& log_;
  OnProved on_proved_;
  Fd listener_;
  Watch watch_;
  Timer resume_;                         // runs while no descriptor is available
  std::map<uint64_t, Pending> pending_;  // the oldest first
  Deadlines deadlines_;
  uint64_t next_id_ = 1;
  uint64_t accepted_ = 0;
  uint64_t rejected_ = 0;
  // At most one line a second, regardless of the number of foreign connections.
  Timer quiet_;
  uint64_t suppressed_ = 0;
  std::string suppressed_text_;
};

}  // namespace dt
