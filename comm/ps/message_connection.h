#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/message_link.h"
#include "comm/transport/tcp_link.h"
#include "comm/transport/tcp_socket.h"
#include "rendezvous/secure/handshake.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace dt {

/// Messages of any length over an authenticated connection of two tasks, of which one may have no
/// rank. A message is announced with its length, and follows in data frames. Never blocks: call
/// advance() when poll(2) reports POLLIN, or POLLOUT while unsent().
class MessageConnection final : private MessageReceiver {
 public:
  struct Options {
    uint32_t generation = 0;
    size_t message_bytes_max = 0;  ///< a longer one is received without its body
    size_t incoming_max = 16;      ///< messages that are partly received; more break the protocol
  };
  struct Received {
    uint32_t id = 0;
    bool too_long = false;  ///< its body was discarded
    Bytes body = {};
  };

  MessageConnection(Fd socket, Session session, Options options);
  MessageConnection(const MessageConnection&) = delete;
  MessageConnection& operator=(const MessageConnection&) = delete;

  int fd() const { return socket_->get(); }
  bool unsent() const { return !link_.all_sent(); }
  /// The number of messages that are not sent to their end.
  size_t outgoing() const { return outgoing_.size(); }
  /// Queues a message; advance() sends it. Requires a body that is not empty, and an id that no
  /// other outgoing message has. The caller limits outgoing().
  Result<> send(uint32_t id, Bytes body);
  /// The same for a body that the caller keeps, too.
  Result<> send(uint32_t id, std::shared_ptr<const Bytes> body);
  /// Receives and sends what is possible now. Fails with Errc::closed when the connection is
  /// broken, and with Errc::protocol when the peer is no task of this version.
  Result<> advance();
  /// Returns the next whole message.
  std::optional<Received> take();

 private:
  struct Incoming {
    bool too_long = false;
    uint64_t announced = 0;
    uint64_t received = 0;
    Bytes body = {};
  };
  struct Outgoing {
    uint32_t id = 0;
    std::shared_ptr<const Bytes> body;
  };
  Result<> control(const Message& message, ByteSpan payload) override;
  Result<PayloadTarget> place(const Message& message) override;
  Result<> arrived(const Message& message) override;
  void complete(uint32_t id);

  Options options_;
  std::shared_ptr<TcpSocket> socket_;
  TcpLink tcp_;
  MessageLink link_;
  std::map<uint32_t, Incoming> incoming_;
  std::deque<Received> received_;
  std::deque<Outgoing> outgoing_;
};

}  // namespace dt
