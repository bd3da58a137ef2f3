#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/secure/dial.h"
#include "rendezvous/secure/handshake.h"

#include <functional>
#include <optional>

namespace dt {

/// One try to connect to an address and to perform the handshake, on a Loop. dial() in
/// rendezvous/secure does the same for a thread that may block, and repeats it.
class HandshakeDial {
 public:
  struct Target {
    Address address;
    TaskId peer;
    Time deadline;
    Duration dead_after = seconds(5);  ///< how long the kernel of a peer may be silent
  };
  /// `on_done` is called once, from the loop; it may destroy this object. Fails with Errc::timeout
  /// at the deadline, and with Errc::refused when the peer has refused this claim.
  HandshakeDial(Loop& loop, Target target, const Claim& claim,
                std::function<void(Result<Dialed>)> on_done);
  HandshakeDial(const HandshakeDial&) = delete;
  HandshakeDial& operator=(const HandshakeDial&) = delete;

  /// True from when on a process at the address has taken the connection.
  bool connected() const { return connected_; }

 private:
  Result<> start(const Claim& claim);
  void ready();
  Result<> step();
  void end(Result<Dialed> result);

  Loop& loop_;
  Target target_;
  std::function<void(Result<Dialed>)> on_done_;
  std::optional<Handshake> handshake_;
  bool connected_ = false;
  Fd fd_;
  Watch watch_;
  Timer timer_;  ///< the deadline, or reports a failure of the start
};

}  // namespace dt
