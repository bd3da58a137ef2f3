#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/network/relay_window.h"
#include "launcher/protocol/message.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace dt {

/// How many connections an agent with so many tasks may carry at once: two each, since a worker of
/// Horovod's opens one for each request while the last is closing, and some that have not proved
/// anything yet, as the rendezvous allows them.
constexpr size_t relayed_max(size_t tasks) {
  return 2 * tasks + 128;
}

/// One end of the connections that an agent carries over its link, for tasks that cannot dial the
/// rendezvous. Both ends work alike: what a connection says goes to the other end as far as there
/// is credit, and what comes from there is written into it. What is said is between the task and
/// the rendezvous.
///
///   carried ── our connection ended: relay_end is sent ──── relay_end comes ─────▶ forgotten
///      └─ relay_end comes ─▶ the rest is written, then closed ─▶ relay_end is sent ─▶ forgotten
///
/// So a stream counts until both ends know that it is over: strangers that come and go while the
/// launcher reads nothing do not fill the link.
class Relay {
 public:
  /// Sends a relay_… message for a stream to the other end.
  using Say = std::function<void(MessageType type, uint32_t stream, ByteSpan payload)>;
  Relay(Loop& loop, Say say) : loop_(loop), say_(std::move(say)) {}
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// A non-blocking connection is carried as this stream from now on.
  Result<> add(uint32_t stream, Fd connection);
  /// There is no connection for this stream.
  void refuse(uint32_t stream) { say_(MessageType::relay_end, stream, {}); }
  /// What the other end says of a stream; of one that has ended here it may still say much. An
  /// error is its fault.
  Result<> receive(MessageType type, uint32_t stream, ByteSpan payload);
  /// At the tasks' end: ends connections that have not proved themselves, the oldest first, until
  /// so many wait for the other end to forget them.
  void end_unproved(size_t count);
  size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    std::unique_ptr<Stream> stream;  ///< null: it is over, and the other end has not confirmed it
    RelayWindow window;
    Bytes waiting;         ///< for credit; while there is any, nothing more is read
    bool closing = false;  ///< the other end's is over
    Timer patience = {};
    std::optional<std::byte> first = {};  ///< that our connection sent
    size_t received = 0;                  ///< bytes of the other end

    bool proved() const;
  };
  size_t read(uint32_t stream, ByteSpan bytes);
  void send_waiting(uint32_t stream, Connection& connection);
  void grant(uint32_t stream, Connection& connection);
  void close(uint32_t stream, Connection& connection);
  void ended(uint32_t stream);

  Loop& loop_;
  Say say_;
  std::map<uint32_t, Connection> connections_;
};

}  // namespace dt
