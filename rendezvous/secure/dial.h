#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "rendezvous/secure/handshake.h"

#include <poll.h>

namespace dt {

/// Waits for any of poll(2)'s `events`, or for an error, on one descriptor. Returns false at the
/// deadline.
Result<bool> await_readiness(int fd, short events, Deadline& deadline);

/// A non-blocking connection whose two ends have proved the token to each other.
struct Dialed {
  Fd connection;
  Session session;
};

/// Dials and performs the handshake; blocks until the deadline at most. Retries while no process
/// listens. Also retries when the listener closes before it has proved the token. A flood of
/// foreign connections may be the reason. A peer without our token and a refusal are final.
Result<Dialed> dial(const Address& address, const Claim& claim, const TaskId& peer,
                    Duration dead_after, Deadline& deadline);

// The same with a new Deadline.
inline Result<bool> await_readiness(int fd, short events, Time deadline) {
  Deadline until(deadline);
  return await_readiness(fd, events, until);
}
inline Result<Dialed> dial(const Address& address, const Claim& claim, const TaskId& peer,
                           Duration dead_after, Time deadline) {
  Deadline until(deadline);
  return dial(address, claim, peer, dead_after, until);
}

}  // namespace dt
