#pragma once

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
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// The rendezvous of one job: a Store and the membership over TCP, for clients that prove the
/// token. Lives on a Loop; everything it holds is bounded (see the limits in store.h).
class RendezvousServer {
 public:
  struct Options {
    std::string ip = "127.0.0.1";  ///< the one address that is bound
    uint16_t port = 0;             ///< 0: any
    Token token;
    TaskTable table;
    Duration dead_after = seconds(5);
    Duration handshake_timeout = seconds(5);
    /// Handshakes under way at once, beside one for each task; the newest beyond is refused.
    size_t pending_max = 128;
    /// A client that leaves more than this unread is dropped.
    size_t unsent_bytes_max = size_t{16} << 20;
    StoreLimits limits;
    /// The addresses from which Horovod's workers are answered, who can prove nothing; none: from
    /// nowhere, and a request of theirs is a failed handshake.
    std::optional<AddressSet> horovod_sources = {};
  };
  static Result<std::unique_ptr<RendezvousServer>> listen(Loop& loop, Options options, Log& log);
  virtual ~RendezvousServer() = default;

  virtual const Address& address() const = 0;
  /// As if it had been accepted: a non-blocking connection that came another way. `from` names its
  /// other side in warnings; empty: its address does.
  virtual void adopt(Fd connection, std::string from) = 0;
  /// Pushes a death or a departure to every connected task; later ones get it with their welcome.
  virtual void notify(const Notice& notice) = 0;
  /// Time stands still between the two: no wait and no handshake runs out.
  virtual void pause() = 0;
  virtual void resume() = 0;
  /// Another table, before any task joins or for a new generation: all clients are dropped, and the
  /// store begins empty.
  virtual void set_table(TaskTable table) = 0;

  struct Counters {
    uint64_t accepted = 0;  ///< connections
    uint64_t rejected = 0;  ///< closed before they proved anything
    uint64_t refused = 0;   ///< proved the token, but claimed a task that is taken or unknown
    uint64_t requests = 0;
    uint64_t horovod_requests = 0;
    size_t joined = 0;   ///< tasks connected now
    size_t pending = 0;  ///< handshakes under way now
  };
  virtual Counters counters() const = 0;
};

}  // namespace dt
