#include "rendezvous/secure/channel.h"

#include "base/format.h"

#include <utility>

namespace dt {

Channel::Channel(Session session, uint32_t generation, size_t message_bytes_max)
    : session_(std::move(session)), generation_(generation), message_bytes_max_(message_bytes_max) {
}

void Channel::send(Bytes& out, ChannelMessageType type, uint32_t id, ByteSpan payload) {
  FrameHeader header{.type = static_cast<uint8_t>(ChannelMessageType::part),
                     .generation = generation_,
                     .stream = id};
  while (payload.size() > frame_payload_bytes_max) {
    session_.seal(out, header, payload.first(frame_payload_bytes_max));
    payload = payload.subspan(frame_payload_bytes_max);
  }
  header.type = static_cast<uint8_t>(type);
  session_.seal(out, header, payload);
}

Result<std::optional<MessageView>> Channel::receive(ByteSpan bytes, size_t* used) {
  *used = 0;
  if (std::exchange(whole_, false)) parts_ = {};
  while (true) {
    size_t frame_bytes = 0;
    const auto frame = TRY(session_.open(bytes.subspan(*used), &frame_bytes));
    if (!frame) return std::optional<MessageView>();
    *used += frame_bytes;
    const FrameHeader& header = frame->header;
    if (header.generation != generation_) {
      return fail(Errc::protocol, format("frame of generation {}, this is generation {}",
                                         header.generation, generation_));
    }
    if (header.type > static_cast<uint8_t>(ChannelMessageType::wait_query)) {
      return fail(Errc::protocol, format("frame type {} is unknown", header.type));
    }
    if (parts_.size() + frame->payload.size() > message_bytes_max_) {
      return fail(Errc::protocol, format("message of more than {} bytes", message_bytes_max_));
    }
    const auto type = static_cast<ChannelMessageType>(header.type);
    if (type != ChannelMessageType::part && parts_.empty()) {
      return std::optional(MessageView{type, header.stream, frame->payload});
    }
    parts_.insert(parts_.end(), frame->payload.begin(), frame->payload.end());
    if (type == ChannelMessageType::part) continue;
    whole_ = true;
    return std::optional(MessageView{type, header.stream, parts_});
  }
}

}  // namespace dt
