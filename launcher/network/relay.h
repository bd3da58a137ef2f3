#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/stream_credit.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace dt {

/// Returns how many connections an agent with this number of tasks relays at once. Each task gets
/// two, because a worker of Horovod opens one for each request while the last is closing. Another
/// 128 are for connections that have not proved the token yet, which the rendezvous limits to the
/// same number.
constexpr size_t relayed_max(size_t tasks) {
  return 2 * tasks + 128;
}

/// One end of a relay: an agent forwards connections over its link, for tasks that cannot dial the
/// rendezvous. Both ends work in the same way. Bytes of a connection go to the other end within its
/// credit; bytes from there are written into the connection. A relay does not interpret them.
///
///   Open ── connection ends, relay_end sent ──▶ ended ── relay_end arrives ──▶ removed
///    └─ relay_end arrives ─▶ closing ── rest written, relay_end sent ─────────▶ removed.
///
/// So a stream counts until both ends know that it is over. Foreign connections that open and close
/// while the launcher reads nothing cannot fill the link.
class Relay {
 public:
  /// Sends a relay_… message for a stream to the other end.
  using Send = std::function<void(MessageType type, uint32_t stream, ByteSpan payload)>;
  Relay(Loop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// Relays this connection as this stream. Requires that it is non-blocking. Fails with
  /// Errc::protocol when the stream exists already.
  Result<> add(uint32_t stream, Fd connection);
  /// Refuses a stream that the other end has opened.
  void refuse(uint32_t stream) { send_(MessageType::relay_end, stream, {}); }
  /// Handles a relay_… message of the other end; messages for a removed stream are ignored. Fails
  /// with Errc::protocol when the other end breaks the protocol.
  Result<> receive(MessageType type, uint32_t stream, ByteSpan payload);
  /// For the agent's end: closes connections that have not proved the token, the oldest first.
  /// Stops when `count` streams wait for relay_end from the other end.
  void end_unproved(size_t count);
  size_t size() const { return connections_.size(); }
  /// Returns the first number from `from` on that no stream has. The number 1 follows the last one.
  uint32_t free_stream(uint32_t from) const;

 private:
  struct Connection {
    std::unique_ptr<Stream> stream;  ///< null: it ended, and waits for the other end's relay_end
    StreamCredit credit;
    Bytes waiting;         ///< for credit; while not empty, the connection is not read
    bool closing = false;  ///< the other end has sent relay_end
    Timer patience = {};
    std::optional<std::byte> first = {};  ///< first byte from our connection
    size_t received = 0;                  ///< bytes from the other end

    bool proved() const;
  };
  size_t read(uint32_t stream, ByteSpan bytes);
  void send_waiting(uint32_t stream, Connection& connection);
  void grant(uint32_t stream, Connection& connection);
  void close(uint32_t stream, Connection& connection);
  void ended(uint32_t stream);

  Loop& loop_;
  Send send_;
  std::map<uint32_t, Connection> connections_;
};

}  // namespace dt
