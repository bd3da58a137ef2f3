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
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A task's connection to its rendezvous: blocking requests, each with a deadline, for a task that
/// joins; posted ones, which leave and are replied to in pump(); and the notices that the server
/// pushes at any time. For one thread at a time.
///
/// Once the connection is lost, every request fails with Errc::closed.
class RendezvousClient : public StorePort {
 public:
  struct Options {
    Address server;
    Claim claim;
    Duration dead_after = seconds(5);  ///< until the welcome says the job's own
  };
  /// Dials (trying again while the connection is refused, until `deadline`), proves the token and
  /// waits for the welcome.
  static Result<std::unique_ptr<RendezvousClient>> connect(const Options& options, Time deadline);

  /// The tasks of this generation, from the welcome.
  virtual const TaskTable& table() const = 0;
  virtual const TaskEntry& self() const = 0;
  /// The job's dead-after time, from the welcome.
  virtual Duration dead_after() const = 0;
  /// This machine's address as the server sees it from here: what peers may dial when the table
  /// names none.
  virtual const Address& local() const = 0;

  using Lifetime = dt::Lifetime;
  virtual Result<> set(std::string_view key, ByteSpan value, Time deadline,
                       Lifetime lifetime = Lifetime::job) = 0;
  /// The value now, or none.
  virtual Result<std::optional<Bytes>> get(std::string_view key, Time deadline) = 0;
  /// From now on changes of keys with this prefix arrive as events.
  virtual Result<> watch(std::string_view prefix, Time deadline) = 0;

  using Change = dt::Change;
  /// Readable when pump() has something to do.
  virtual int fd() const = 0;
  /// Reads what has arrived and sends what is queued, without blocking. When more is queued than
  /// goes, fd() becomes writable. Errc::closed: the launcher is lost.
  virtual Result<> pump() = 0;
  /// What pump() or a request found, oldest first; includes the dead and left of the welcome.
  virtual std::optional<Notice> next_notice() = 0;
  virtual std::optional<Change> next_change() = 0;
};

}  // namespace dt
