#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/address_set.h"
#include "rendezvous/store/store.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// The rendezvous of one job: a Store over TCP, for clients that prove the token. Runs on a Loop.
/// All its memory is limited (see store.h).
class RendezvousServer {
 public:
  struct Options {
    std::string ip = "127.0.0.1";  ///< the only address that is bound
    uint16_t port = 0;             ///< 0: any
    Token token;
    TaskTable table;
    Duration dead_after = seconds(5);
    EngineSettings engine = {};
    Duration handshake_timeout = seconds(5);
    /// The maximum of handshakes at once, beside one for each task; beyond it, the oldest is
    /// closed.
    size_t pending_max = 128;
    /// A client with more unread bytes is disconnected.
    size_t unsent_bytes_max = size_t{16} << 20;
    StoreLimits limits;
    /// The addresses from which Horovod's workers, which cannot prove the token, get answers. None:
    /// from no address, and their request is a failed handshake.
    std::optional<AddressSet> horovod_sources = {};
  };
  static Result<std::unique_ptr<RendezvousServer>> listen(Loop& loop, Options options, Log& log);
  virtual ~RendezvousServer() = default;

  virtual const Address& address() const = 0;
  /// Handles a non-blocking connection that was not accepted here as if it were. `from` names its
  /// other side in warnings; when empty, the address does.
  virtual void adopt(Fd connection, std::string from) = 0;
  /// Sends a death, departure or restart to every connected task; later ones get it with their
  /// welcome.
  virtual void notify(const Notice& notice) = 0;
  /// Between the two, no time passes: no wait and no handshake times out.
  virtual void pause() = 0;
  virtual void resume() = 0;
  /// Replaces the table, before any task joins or for a new generation. Disconnects all clients,
  /// and empties the store.
  virtual void set_table(TaskTable table) = 0;
  /// Replaces Options::horovod_sources for later connections: a generation may have other hosts.
  /// Requires that these were given.
  virtual void set_horovod_sources(AddressSet sources) = 0;

  using WaitReportHandler = std::function<void(const TaskId& task, const WaitReport& report)>;
  /// Sets the handler of all WaitReports. Without one they have no effect.
  virtual void on_wait_report(WaitReportHandler handler) = 0;
  /// Asks all connected tasks for a WaitReport. A task that is in no call sends none.
  virtual void query_waits() = 0;
  /// Returns the pid of a connected task's process, as that process sees it; 0 for other tasks.
  virtual int64_t pid_of(const TaskId& task) const = 0;
  /// Returns the value of a key until the next call of this class; null without it.
  virtual const Bytes* find(const std::string& key) const = 0;

  struct Counters {
    uint64_t accepted = 0;  ///< connections
    uint64_t rejected = 0;  ///< closed before they proved the token
    uint64_t refused = 0;   ///< proved the token, but claimed a task that is taken or unknown
    uint64_t requests = 0;
    uint64_t horovod_requests = 0;
    size_t joined = 0;   ///< tasks connected now
    size_t pending = 0;  ///< handshakes under way now
  };
  virtual Counters counters() const = 0;
};

}  // namespace dt
