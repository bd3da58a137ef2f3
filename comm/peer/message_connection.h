#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/peer/message_memory.h"
#include "comm/peer/message_parts.h"
#include "comm/peer/pair_connection.h"
#include "comm/transport/message_link.h"
#include "comm/transport/tcp_link.h"
#include "comm/transport/tcp_socket.h"
#include "rendezvous/secure/handshake.h"

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace dt {

/// Messages of any length over an authenticated connection of two tasks, of which one may have no
/// rank. A message is announced with its length, and follows in data frames. Never blocks: call
/// advance() when poll(2) reports something for fd() and events(), or when changed().
class MessageConnection final : private MessageReceiver {
 public:
  struct Options {
    uint32_t generation = 0;
    size_t message_bytes_max = 0;  ///< a longer one is received without its body
    size_t incoming_max = 16;      ///< messages that are partly received; more break the protocol
  };
  struct Received {
    uint32_t id = 0;
    bool too_long = false;                   ///< its body was discarded, and is empty
    std::shared_ptr<const Bytes> body = {};  ///< never null
  };
  /// The bytes of a message that arrive next.
  struct Arriving {
    uint32_t id = 0;
    ByteSpan before = {};  ///< the message's bytes before them
    size_t length = 0;
  };
  /// Returns memory for these bytes, if they are not to be in the message's body. There they are
  /// undefined then.
  using Placer = std::function<std::optional<std::span<std::byte>>(const Arriving& arriving)>;

  MessageConnection(Fd socket, Session session, Options options);
  MessageConnection(std::unique_ptr<PairConnection> pair, Options options);
  MessageConnection(const MessageConnection&) = delete;
  MessageConnection& operator=(const MessageConnection&) = delete;

  int fd() const { return pair_ ? pair_->fd() : socket_->get(); }
  /// For poll(2). The socket beside shared memory could always be written.
  short events() const { return !pair_ && unsent() ? POLLIN | POLLOUT : POLLIN; }
  bool unsent() const { return !link_.all_sent(); }
  /// These three are those of a PairConnection. A TCP connection reports all by its events.
  bool changed() const { return pair_ && (more_ || pair_->changed(unsent())); }
  bool fall_asleep() { return !pair_ || (!more_ && pair_->fall_asleep(unsent())); }
  void wake_up();
  void place_by(Placer placer) { placer_ = std::move(placer); }
  /// The number of messages that are not sent to their end.
  size_t outgoing() const { return outgoing_.size(); }
  /// Queues a message; advance() sends it. Requires a body that is not empty, and an id that no
  /// other outgoing message has. The caller limits outgoing().
  Result<> send(uint32_t id, Bytes body);
  /// The same for a message in parts, which the caller may keep, too. Arrays without an owner must
  /// live until the message is sent, or this connection ends.
  Result<> send(uint32_t id, std::shared_ptr<const MessageParts> message);
  Result<> send(uint32_t id, MessageParts message);
  /// Receives and sends what is possible now. Fails with Errc::closed when the connection is
  /// broken, and with Errc::protocol when the peer is no task of this version.
  Result<> advance();
  /// Returns the next whole message.
  std::optional<Received> take();
  /// As MessageMemory::free_unused().
  Time free_unused_memory(Time now) { return memory_.free_unused(now); }

 private:
  struct Incoming {
    bool too_long = false;
    uint64_t announced = 0;
    uint64_t received = 0;
    std::shared_ptr<Bytes> body = {};
  };
  struct Outgoing {
    uint32_t id = 0;
    std::shared_ptr<const MessageParts> message;
    size_t next_part = 0;
  };
  Result<> control(const Message& message, ByteSpan payload) override;
  Result<PayloadTarget> place(const Message& message) override;
  Result<> arrived(const Message& message) override;
  void complete(uint32_t id);
  bool queue_parts();
  Result<> advance_pair();
  Result<bool> move_some();

  Options options_;
  // Either the first two or the third.
  std::shared_ptr<TcpSocket> socket_;
  std::unique_ptr<TcpLink> tcp_;
  std::unique_ptr<PairConnection> pair_;
  bool more_ = false;  ///< a next advance() has an effect that pair_ does not show
  MessageLink link_;
  Placer placer_;
  MessageMemory memory_;
  std::map<uint32_t, Incoming> incoming_;
  std::deque<Received> received_;
  std::deque<Outgoing> outgoing_;
};

}  // namespace dt
