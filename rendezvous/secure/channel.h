#pragma once

#include "rendezvous/secure/handshake.h"

#include <cstdint>
#include <optional>

namespace dt {

/// The types of frames between a rendezvous and a client. After a `part`, more frames of its
/// message follow; the last one has the message's own type. A client answers a wait_query by a
/// WaitReport.
enum class ChannelMessageType : uint8_t { part, request, reply, welcome, notice, wait_query };

/// One message. Its payload points into the receive buffer or the channel, until the next
/// receive().
struct MessageView {
  ChannelMessageType type = ChannelMessageType::part;
  uint32_t id = 0;  ///< of the request, or of the request that this answers
  ByteSpan payload;
};

/// Messages over a Session. A message has as many sealed frames as it needs.
class Channel {
 public:
  /// Refuses received messages over `message_bytes_max` before it stores them.
  Channel(Session session, uint32_t generation, size_t message_bytes_max);

  /// Appends the frames of one message to `out`.
  void send(Bytes& out, ChannelMessageType type, uint32_t id, ByteSpan payload);
  /// Returns the message at the front of `bytes`; none while it is incomplete. Sets `*used` to the
  /// number of consumed bytes, also when there is no message yet.
  Result<std::optional<MessageView>> receive(ByteSpan bytes, size_t* used);

 private:
  Session session_;
  uint32_t generation_;
  size_t message_bytes_max_;
  Bytes parts_;
  bool whole_ = true;  // parts_ belong to a message that was returned
};

}  // namespace dt
