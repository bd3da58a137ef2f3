#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/store_port.h"
#include "rendezvous/store/wire.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A task's connection to its rendezvous, for one thread at a time. A task that joins uses blocking
/// requests, each with a deadline. Posted requests are sent, and replied to, in pump(). The server
/// also pushes notices at any time.
///
/// After the connection is lost, every request fails with Errc::closed.
class RendezvousClient : public StorePort {
 public:
  struct Options {
    Address server;
    Claim claim;
    Duration dead_after = seconds(5);  ///< until the welcome brings the job's value
  };
  /// Dials (with retries until `deadline` while the connection is refused), proves the token and
  /// waits for the welcome.
  static Result<std::unique_ptr<RendezvousClient>> connect(const Options& options, Time deadline);

  /// The tasks of this generation, from the welcome.
  virtual const TaskTable& table() const = 0;
  virtual const TaskEntry& self() const = 0;
  /// The job's dead-after time, from the welcome.
  virtual Duration dead_after() const = 0;
  /// The job's settings of collectives, from the welcome.
  virtual const EngineSettings& engine_settings() const = 0;
  /// This machine's address on the connection to the server. Peers dial it when the table has no
  /// address.
  virtual const Address& local() const = 0;

  using Lifetime = dt::Lifetime;
  virtual Result<> set(std::string_view key, ByteSpan value, Time deadline,
                       Lifetime lifetime = Lifetime::job) = 0;
  /// Returns the current value, or none.
  virtual Result<std::optional<Bytes>> get(std::string_view key, Time deadline) = 0;

  /// Readable when pump() has work.
  virtual int fd() const = 0;
  /// Receives and sends as much as possible without blocking. If bytes stay queued, fd() becomes
  /// writable later. Fails with Errc::closed when the launcher is lost.
  virtual Result<> pump() = 0;
  /// Returns the notices that pump() or a request has received, oldest first. They begin with those
  /// of the welcome.
  virtual std::optional<Notice> next_notice() = 0;
  /// The notices that next_notice() has not returned yet.
  virtual const std::deque<Notice>& unread_notices() const = 0;
  /// Returns whether the server has asked for a WaitReport since the last call.
  virtual bool take_wait_query() = 0;
};

}  // namespace dt
