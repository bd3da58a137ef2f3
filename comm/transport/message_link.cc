#include "comm/transport/message_link.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>
#include <new>

namespace dt {

namespace {

/// receive() returns after so many rounds, so that one busy peer does not delay the others.
constexpr int rounds_max = 64;
/// flush() returns after so many frames, so that time limits and notices are handled in time.
constexpr int flushed_frames_max = 16;

/// Reads the header of a data frame, or of a control frame whose rest has not arrived yet.
Result<FrameHeader> read_head(ByteSpan bytes) {
  const std::optional<FrameHeader> header = TRY(front_header(bytes));
  if (!header) return fail(Errc::protocol, "frame header is cut short");
  if (header->length > frame_payload_bytes_max) {
    return fail(Errc::protocol,
                format("frame length {} > {}", header->length, frame_payload_bytes_max));
  }
  return *header;
}

}  // namespace

Result<> MessageLink::send_control(uint8_t type, uint32_t stream, ByteSpan payload) {
  assert((type & data_frame_bit) == 0 && payload.size() <= control_bytes_max);
  if (controls_.size() >= queued_messages_max)
    return fail(Errc::protocol, "the peer does not read its messages");
  controls_.push_back({type, stream, {payload.begin(), payload.end()}});
  return {};
}

void MessageLink::send_data(uint8_t type, uint32_t stream, ByteSpan payload) {
  assert((type & data_frame_bit) != 0 && !payload.empty());
  assert(data_.size() < queued_messages_max && !sending(type, stream));
  data_.push_back({type, stream, payload});
}

bool MessageLink::sending(uint8_t type, uint32_t stream) const {
  return std::any_of(data_.begin(), data_.end(),
                     [&](const Data& d) { return d.type == type && d.stream == stream; });
}

void MessageLink::cancel_send(uint8_t type, uint32_t stream) {
  const auto matches = [&](const Data& d) { return d.type == type && d.stream == stream; };
  if (out_.active && out_.data && matches(data_.front())) {
    copy_rest();
    out_.data = false;
  }
  std::erase_if(data_, matches);
}

/// Copies the part of the current frame that is not sent yet.
void MessageLink::copy_rest() {
  try {
    out_.body_copy.assign(out_.body.begin(), out_.body.end());
  } catch (const std::bad_alloc&) {
    // A frame without its rest breaks the protocol, so the peer must see the end of the link.
    out_.body_copy.clear();
    options_.link->close();
  }
  out_.body = out_.body_copy;
}

Result<bool> MessageLink::flush() {
  bool moved = false;
  for (int frame = 0; frame < flushed_frames_max && (out_.active || start_frame()); ++frame) {
    ByteSpan head = ByteSpan(out_.head).subspan(out_.head_sent);
    moved |= TRY(send_some(head));
    out_.head_sent = out_.head.size() - head.size();
    if (!head.empty()) break;
    moved |= TRY(send_some(out_.body));
    if (!out_.body.empty()) break;
    end_frame();
  }
  return moved;
}

Result<bool> MessageLink::send_some(ByteSpan& bytes) {
  const size_t before = bytes.size();
  while (!bytes.empty()) {
    const size_t sent = TRY(options_.link->send(bytes));
    if (sent == 0) break;
    bytes = bytes.subspan(sent);
  }
  return bytes.size() < before;
}

bool MessageLink::start_frame() {
  if (!controls_.empty()) {
    start_control();
  } else if (!data_.empty()) {
    start_data();
  }
  return out_.active;
}

void MessageLink::start_control() {
  const Control& control = controls_.front();
  const FrameHeader header{
      .type = control.type, .generation = options_.generation, .stream = control.stream};
  out_.active = true;
  // Sealed only now: the counter in the MAC follows the order on the wire.
  if (options_.session != nullptr) {
    options_.session->seal(out_.head, header, control.payload);
  } else {
    append_frame(out_.head, header, control.payload);
  }
  controls_.pop_front();
}

void MessageLink::start_data() {
  const Data& data = data_.front();
  out_.active = true;
  out_.data = true;
  out_.body = data.rest.first(std::min(data.rest.size(), data_frame_bytes));
  const FrameHeader header{.length = static_cast<uint32_t>(out_.body.size()),
                           .type = data.type,
                           .generation = options_.generation,
                           .stream = data.stream};
  if (options_.session != nullptr) {
    const SealedHeader head = options_.session->seal_header(header);
    out_.head.assign(head.begin(), head.end());
  } else {
    append_header(out_.head, header);
  }
}

void MessageLink::end_frame() {
  if (out_.data) {
    Data data = data_.front();
    data_.pop_front();
    data.rest = data.rest.subspan(std::min(data.rest.size(), data_frame_bytes));
    if (!data.rest.empty()) data_.push_back(data);  // behind the others: they take turns
  }
  out_ = Outgoing{};
}

Result<bool> MessageLink::receive(MessageReceiver& receiver) {
  bool moved = false;
  for (int round = 0; round < rounds_max; ++round) {
    if (!TRY(receive_some(receiver))) break;
    moved = true;
  }
  return moved;
}

size_t MessageLink::cancel_receive(uint8_t type, uint32_t stream) {
  const bool placed = in_.in_body && in_.place.action == PayloadTarget::Action::take;
  if (!placed || in_.message.type != type || in_.message.stream != stream) return 0;
  in_.place = {PayloadTarget::Action::discard};
  return in_.message.length;
}

Result<bool> MessageLink::receive_some(MessageReceiver& receiver) {
  return in_.in_body ? receive_body(receiver) : receive_head(receiver);
}

Result<size_t> MessageLink::head_bytes_wanted() const {
  if (in_.head_received < frame_header_bytes) return frame_header_bytes;
  const FrameHeader header = TRY(read_head(in_.head));
  const size_t mac = options_.session != nullptr ? frame_mac_bytes : 0;
  if ((header.type & data_frame_bit) != 0) return frame_header_bytes + mac;
  if (header.length > control_bytes_max) {
    return fail(Errc::protocol,
                format("control message of {} bytes > {}", header.length, control_bytes_max));
  }
  return frame_header_bytes + header.length + mac;
}

Result<bool> MessageLink::receive_head(MessageReceiver& receiver) {
  const size_t wanted = TRY(head_bytes_wanted());
  if (in_.head_received < wanted) {
    const std::span<std::byte> rest = std::span(in_.head).first(wanted);
    const size_t got = TRY(options_.link->receive(rest.subspan(in_.head_received)));
    in_.head_received += got;
    return got > 0;
  }
  const ByteSpan head = ByteSpan(in_.head).first(wanted);
  in_.head_received = 0;
  const bool data = (std::to_integer<uint8_t>(head[5]) & data_frame_bit) != 0;
  if (data) {
    TRY(open_data(head));
  } else {
    TRY(open_control(head, receiver));
  }
  return true;
}

Result<> MessageLink::open_control(ByteSpan frame, MessageReceiver& receiver) {
  size_t used = 0;
  const bool sealed = options_.session != nullptr;
  const std::optional<FrameView> view =
      TRY(sealed ? options_.session->open(frame, &used) : front_frame(frame));
  if (!view) return fail(Errc::protocol, "control message is cut short");
  const FrameHeader& header = view->header;
  if (header.generation != options_.generation)
    return fail(Errc::protocol, format("frame of generation {}", header.generation));
  return receiver.control({options_.peer, header.type, header.stream, header.length},
                          view->payload);
}

Result<> MessageLink::open_data(ByteSpan head) {
  FrameHeader header = TRY(read_head(head));
  if (options_.session != nullptr) {
    size_t used = 0;
    const auto opened = TRY(options_.session->open_header(head, &used));
    if (!opened) return fail(Errc::protocol, "data header is cut short");
    header = *opened;
  }
  if (header.generation != options_.generation)
    return fail(Errc::protocol, format("frame of generation {}", header.generation));
  if (header.length == 0) return fail(Errc::protocol, "empty data frame");
  in_.in_body = true;
  in_.body_received = 0;
  in_.place = {};
  in_.message = {options_.peer, header.type, header.stream, header.length};
  return {};
}

Result<bool> MessageLink::receive_body(MessageReceiver& receiver) {
  if (in_.place.action == PayloadTarget::Action::wait) {
    in_.place = TRY(receiver.place(in_.message));
    if (in_.place.action == PayloadTarget::Action::wait) return false;
    assert(in_.place.action == PayloadTarget::Action::discard ||
           in_.place.into.size() == in_.message.length);
  }
  const bool discard = in_.place.action == PayloadTarget::Action::discard;
  std::array<std::byte, 8192> nowhere;
  const size_t left = in_.message.length - in_.body_received;
  const std::span<std::byte> into =
      discard ? std::span<std::byte>(nowhere).first(std::min(left, nowhere.size()))
              : in_.place.into.subspan(in_.body_received);
  const size_t got = TRY(options_.link->receive(into));
  in_.body_received += got;
  if (in_.body_received == in_.message.length) {
    in_.in_body = false;
    if (!discard) TRY(receiver.arrived(in_.message));
  }
  return got > 0;
}

}  // namespace dt
