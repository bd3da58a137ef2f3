#pragma once

#include "rendezvous/secure/handshake.h"

#include <cstdint>
#include <optional>

namespace dt {

/// What a frame between a rendezvous and a client carries. A `part` is followed by the rest of its
/// message; the last frame has the message's own type.
enum class ChannelMessageType : uint8_t { part, request, reply, welcome, notice, change };

/// One message; the payload lies in the receive buffer or in the channel until the next receive().
struct MessageView {
  ChannelMessageType type = ChannelMessageType::part;
  uint32_t id = 0;  ///< which request this is, or answers
  ByteSpan payload;
};

/// Messages over a Session: sealed frames, as many as a message needs.
class Channel {
 public:
  /// Refuses received messages of more than `message_bytes_max` before it holds them.
  Channel(Session session, uint32_t generation, size_t message_bytes_max);

  /// Appends the frames of one message to `out`.
  void send(Bytes& out, ChannelMessageType type, uint32_t id, ByteSpan payload);
  /// The message at the front of `bytes`, or none while it is not whole. `*used` becomes how many
  /// bytes at the front are taken in, also when there is no message yet.
  Result<std::optional<MessageView>> receive(ByteSpan bytes, size_t* used);

 private:
  Session session_;
  uint32_t generation_;
  size_t message_bytes_max_;
  Bytes parts_;
  bool whole_ = true;  // parts_ belong to a message that was handed out
};

}  // namespace dt
