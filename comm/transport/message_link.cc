#include "comm/transport/message_link.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace dt {

namespace {

/// receive() returns after this many rounds, so that one busy peer does not delay the others.
constexpr int rounds_max = 64;
/// flush() returns after this many batches, so that time limits and notices are handled in time.
constexpr int flushed_batches_max = 16;
/// The room for control messages, in bytes, that a connected link has at least.
constexpr size_t controls_bytes_min = 512;
/// The most messages that wait until a link is connected for another reason.
constexpr size_t waiting_controls_max = 64;

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

MessageLink::MessageLink(Options options) : options_(options) {
  if (options_.link->connected().value_or(false)) take_connection();
}

Result<bool> MessageLink::ready() {
  if (connected_) return true;
  const bool connected = TRY(options_.link->connected());
  if (connected) take_connection();
  return connected;
}

/// Seals what was queued before.
void MessageLink::take_connection() {
  connected_ = true;
  controls_.reserve(controls_bytes_min);
  batch_.controls.reserve(controls_bytes_min);
  if (options_.session == nullptr) options_.session = options_.link->session();
  if (options_.session != nullptr) {
    const Bytes plain = std::exchange(controls_, {});
    for (ByteSpan rest = plain; !rest.empty();) {
      const FrameView frame = front_frame(rest).value().value();
      options_.session->seal(controls_, frame.header, frame.payload);
      rest = rest.subspan(frame_header_bytes + frame.payload.size());
    }
  }
  if (!std::exchange(may_wait_, false) || options_.unsent == nullptr) return;
  options_.unsent->add(static_cast<size_t>(options_.peer));
}

Result<> MessageLink::send_control(uint8_t type, uint32_t stream, ByteSpan payload) {
  note_unsent();
  return queue_control(type, stream, payload);
}

Result<> MessageLink::send_when_connected(uint8_t type, uint32_t stream, ByteSpan payload) {
  const bool alone = all_sent() || may_wait_;
  if (connected_ || !alone || control_count_ >= waiting_controls_max)
    return send_control(type, stream, payload);
  may_wait_ = true;
  return queue_control(type, stream, payload);
}

Result<> MessageLink::queue_control(uint8_t type, uint32_t stream, ByteSpan payload) {
  assert((type & data_frame_bit) == 0 && payload.size() <= control_bytes_max);
  if (control_count_ >= queued_messages_max)
    return fail(Errc::protocol, "the peer does not read its messages");
  ++control_count_;
  const FrameHeader header{.type = type, .generation = options_.generation, .stream = stream};
  // The counter in the MAC is that of the frame's number on the wire. No frame is sealed later and
  // sent earlier.
  if (connected_ && options_.session != nullptr) {
    options_.session->seal(controls_, header, payload);
  } else {
    append_frame(controls_, header, payload);
  }
  return {};
}

void MessageLink::send_data(uint8_t type, uint32_t stream, ByteSpan payload) {
  assert((type & data_frame_bit) != 0 && !payload.empty());
  assert(data_.size() < queued_messages_max && !sending(type, stream));
  note_unsent();
  data_.push_back({type, stream, payload});
}

void MessageLink::note_unsent() {
  const bool first = all_sent() || may_wait_;
  may_wait_ = false;
  if (options_.unsent != nullptr && first) options_.unsent->add(static_cast<size_t>(options_.peer));
}

bool MessageLink::sending(uint8_t type, uint32_t stream) const {
  for (size_t i = batch_.first_frame; i < batch_.frame_count; ++i) {
    const Frame& frame = batch_.frames[i];
    if (!frame.cancelled && frame.message.is(type, stream)) return true;
  }
  return std::any_of(data_.begin(), data_.end(), [&](const Data& d) { return d.is(type, stream); });
}

size_t MessageLink::unsent_bytes(uint8_t type, uint32_t stream) const {
  size_t bytes = 0;
  for (size_t i = batch_.first_frame; i < batch_.frame_count; ++i) {
    const Frame& frame = batch_.frames[i];
    if (!frame.cancelled && frame.message.is(type, stream))
      bytes += batch_.parts[frame.body_part].size() + frame.message.rest.size();
  }
  for (const Data& data : data_)
    if (data.is(type, stream)) bytes += data.rest.size();
  return bytes;
}

void MessageLink::cancel_send(uint8_t type, uint32_t stream) {
  for (Frame& frame : unsent_frames()) {
    if (frame.cancelled || !frame.message.is(type, stream)) continue;
    // An encrypted body is a copy already.
    if (!encrypts()) copy_body(frame);
    frame.cancelled = true;
  }
  data_.erase_if([&](const Data& d) { return d.is(type, stream); });
}

/// Copies the part of a frame's body that is not sent yet.
void MessageLink::copy_body(Frame& frame) {
  ByteSpan& body = batch_.parts[frame.body_part];
  try {
    frame.body_copy.assign(body.begin(), body.end());
  } catch (const std::bad_alloc&) {
    // A frame without its rest breaks the protocol, so the peer must see the end of the link.
    frame.body_copy.clear();
    options_.link->close();
  }
  body = frame.body_copy;
}

Result<bool> MessageLink::flush() {
  bool moved = false;
  const bool connected = TRY(ready());
  if (!connected && !all_sent()) options_.link->connect();
  if (!connected) return false;
  for (int batch = 0; batch < flushed_batches_max && start_batch(); ++batch) {
    while (batch_.under_way()) {
      const auto parts = std::span(batch_.parts).first(batch_.part_count);
      const size_t sent = TRY(options_.link->send_parts(parts.subspan(batch_.first_part)));
      if (sent == 0) return moved;
      advance_batch(sent);
      moved = true;
    }
  }
  return moved;
}

/// Returns false when nothing is queued.
bool MessageLink::start_batch() {
  if (batch_.under_way()) return true;
  batch_.first_frame = batch_.frame_count = 0;
  batch_.first_part = batch_.part_count = 0;
  // Before any change, since memory may run out here.
  if (encrypts()) make_room_for_sealed();
  batch_.sealed_bytes = 0;
  batch_.controls.clear();
  std::swap(batch_.controls, controls_);
  control_count_ = 0;
  size_t bytes = batch_.controls.size();
  if (bytes > 0) batch_.add(batch_.controls);
  while (!data_.empty() && batch_.frame_count < batch_frames_max && bytes < data_frame_bytes)
    bytes += start_frame();
  return batch_.under_way();
}

/// Makes the memory for the encrypted bodies of the next batch. Those before its last one have less
/// than data_frame_bytes together.
void MessageLink::make_room_for_sealed() {
  size_t bytes = 0;
  for (const Data& data : data_)
    bytes += std::min(data.rest.size(), data_frame_bytes);
  bytes = std::min(bytes, 2 * data_frame_bytes) + batch_frames_max * payload_tag_bytes;
  if (batch_.sealed.size() < bytes) batch_.sealed.resize(bytes);
}

/// Adds the next data frame to the batch. Returns its length.
size_t MessageLink::start_frame() {
  Frame& frame = batch_.frames[batch_.frame_count++];
  frame.message = data_.front();
  data_.pop_front();
  const ByteSpan body =
      frame.message.rest.first(std::min(frame.message.rest.size(), data_frame_bytes));
  frame.message.rest = frame.message.rest.subspan(body.size());
  frame.cancelled = false;
  const FrameHeader header{.length = static_cast<uint32_t>(body.size()),
                           .type = frame.message.type,
                           .generation = options_.generation,
                           .stream = frame.message.stream};
  if (options_.session != nullptr) {
    frame.head = options_.session->seal_header(header);
    batch_.add(frame.head);
  } else {
    std::ranges::copy(header_bytes(header), frame.head.begin());
    batch_.add(ByteSpan(frame.head).first(frame_header_bytes));
  }
  frame.body_part = batch_.part_count;
  if (encrypts()) {
    add_sealed_body(frame, body);
  } else {
    batch_.add(body);
  }
  return body.size();
}

void MessageLink::add_sealed_body(const Frame& frame, ByteSpan body) {
  const size_t size = body.size() + payload_tag_bytes;
  const std::span<std::byte> sealed = std::span(batch_.sealed).subspan(batch_.sealed_bytes, size);
  batch_.sealed_bytes += size;
  options_.session->seal_payload(frame.head, body, sealed);
  batch_.add(sealed);
}

void MessageLink::advance_batch(size_t sent) {
  while (sent > 0) {
    ByteSpan& part = batch_.parts[batch_.first_part];
    const size_t n = std::min(sent, part.size());
    part = part.subspan(n);
    sent -= n;
    if (part.empty()) ++batch_.first_part;
  }
  for (Frame& frame : unsent_frames()) {
    if (frame.body_part >= batch_.first_part) break;
    ++batch_.first_frame;
    // Behind the others: they take turns.
    if (!frame.cancelled && !frame.message.rest.empty()) data_.push_back(frame.message);
  }
}

Result<bool> MessageLink::receive(MessageReceiver& receiver) {
  bool moved = false;
  // Without its keys, no frame can be opened.
  if (!TRY(ready())) return false;
  for (int round = 0; round < rounds_max; ++round) {
    if (!TRY(receive_some(receiver))) break;
    moved = true;
  }
  return moved;
}

size_t MessageLink::cancel_receive(uint8_t type, uint32_t stream) {
  const bool placed = in_.in_body && in_.target.action == PayloadTarget::Action::take;
  if (!placed || in_.message.type != type || in_.message.stream != stream) return 0;
  in_.target = {PayloadTarget::Action::discard};
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
  if (encrypts()) {
    if (header.length > data_frame_bytes)
      return fail(Errc::protocol, format("encrypted frame of {} bytes", header.length));
    std::ranges::copy(head, in_.sealed_head.begin());
  }
  in_.in_body = true;
  in_.body_received = 0;
  in_.target = {};
  in_.message = {options_.peer, header.type, header.stream, header.length};
  return {};
}

Result<bool> MessageLink::receive_body(MessageReceiver& receiver) {
  TRY(ask_target(receiver));
  if (has_waiting()) return false;
  const size_t got = TRY(encrypts() ? receive_sealed() : receive_plain());
  if (in_.body_received == in_.message.length + (encrypts() ? payload_tag_bytes : 0)) {
    in_.in_body = false;
    if (encrypts()) TRY(open_body());
    if (in_.target.action == PayloadTarget::Action::take) TRY(receiver.arrived(in_.message));
  }
  return got > 0;
}

/// Asks the receiver for memory unless it has answered for this frame.
Result<> MessageLink::ask_target(MessageReceiver& receiver) {
  if (in_.target.action != PayloadTarget::Action::wait) return {};
  in_.target = TRY(receiver.place(in_.message));
  assert(in_.target.action != PayloadTarget::Action::take ||
         in_.target.into.size() == in_.message.length);
  return {};
}

/// Reads the next part of the body directly into the receiver's memory.
Result<size_t> MessageLink::receive_plain() {
  const bool discard = in_.target.action == PayloadTarget::Action::discard;
  std::array<std::byte, 8192> nowhere;
  const size_t left = in_.message.length - in_.body_received;
  const std::span<std::byte> into =
      discard ? std::span<std::byte>(nowhere).first(std::min(left, nowhere.size()))
              : in_.target.into.subspan(in_.body_received);
  const size_t got = TRY(options_.link->receive(into));
  in_.body_received += got;
  return got;
}

/// Reads the next part of an encrypted body. Nothing of it is the receiver's before its check.
Result<size_t> MessageLink::receive_sealed() {
  const size_t size = in_.message.length + payload_tag_bytes;
  if (in_.sealed.size() < size) in_.sealed.resize(size);
  const std::span<std::byte> body = std::span(in_.sealed).first(size);
  const size_t got = TRY(options_.link->receive(body.subspan(in_.body_received)));
  in_.body_received += got;
  return got;
}

/// Checks and decrypts a whole body, also one that is discarded: the next one has the next number.
Result<> MessageLink::open_body() {
  const std::span<std::byte> sealed =
      std::span(in_.sealed).first(in_.message.length + payload_tag_bytes);
  const ByteSpan body = TRY(options_.session->open_payload(in_.sealed_head, sealed));
  if (in_.target.action == PayloadTarget::Action::take)
    std::ranges::copy(body, in_.target.into.begin());
  return {};
}

}  // namespace dt
