#include "comm/peer/message_connection.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

constexpr uint8_t announcement = 1;
constexpr uint8_t body_part = data_frame_bit | 1;
/// Each receives 64 frames at most, and sends as many bytes, or one part that is computed.
constexpr int receive_rounds_max = 4;
/// An advance() over TCP begins no more parts of a message than this, since other connections wait.
constexpr int sent_parts_max = 16;

}  // namespace

MessageConnection::MessageConnection(Fd socket, Session session, Options options)
    : options_(options),
      socket_(std::make_shared<TcpSocket>(std::move(socket), std::move(session))),
      tcp_(std::make_unique<TcpLink>(socket_)),
      link_({.link = tcp_.get(), .generation = options.generation}) {
}

MessageConnection::MessageConnection(std::unique_ptr<PairConnection> pair, Options options)
    : options_(options),
      pair_(std::move(pair)),
      link_({.link = &pair_->link(), .generation = options.generation}) {
}

void MessageConnection::wake_up() {
  if (pair_) pair_->wake_up();
}

Result<> MessageConnection::send(uint32_t id, Bytes body) {
  return send(id, MessageParts::of(std::move(body)));
}

Result<> MessageConnection::send(uint32_t id, MessageParts message) {
  return send(id, std::make_shared<const MessageParts>(std::move(message)));
}

Result<> MessageConnection::send(uint32_t id, std::shared_ptr<const MessageParts> message) {
  assert(!message->parts.empty());
  Writer length;
  length.number(static_cast<uint64_t>(message->size()));
  TRY(link_.send_control(announcement, id, length.view()));
  outgoing_.push_back({id, std::move(message)});
  queue_parts();
  more_ = true;
  return {};
}

/// Queues the next part of each message whose earlier ones are sent, and forgets messages that are
/// sent. A part begins a frame, so that the receiver can place it. Returns true if it queued one.
bool MessageConnection::queue_parts() {
  std::erase_if(outgoing_, [this](const Outgoing& outgoing) {
    return outgoing.next_part == outgoing.message->parts.size() &&
           !link_.sending(body_part, outgoing.id);
  });
  bool queued = false;
  for (Outgoing& outgoing : outgoing_) {
    if (link_.sending(body_part, outgoing.id)) continue;
    link_.send_data(body_part, outgoing.id, outgoing.message->parts[outgoing.next_part].ready());
    ++outgoing.next_part;
    queued = true;
  }
  return queued;
}

Result<> MessageConnection::advance() {
  if (pair_) return advance_pair();
  socket_->report({.readable = true, .writable = true});
  // The link may hold bytes that it has read ahead, for which poll(2) reports nothing.
  while (TRY(link_.receive(*this))) {
  }
  int rounds = 0;
  do {
    TRY(link_.flush());
  } while (queue_parts() && ++rounds < sent_parts_max);
  return {};
}

/// Ends while the peer keeps up, too, since other connections wait.
Result<> MessageConnection::advance_pair() {
  more_ = false;
  pair_->begin_round();
  int rounds = 0;
  while (TRY(move_some()))
    if (++rounds == receive_rounds_max) break;
  more_ = rounds == receive_rounds_max;
  if (rounds > 0) return {};
  pair_->look_for_end();
  TRY(move_some());
  return {};
}

/// Receives and sends; false when there was nothing to do.
Result<bool> MessageConnection::move_some() {
  const bool received = TRY(link_.receive(*this));
  const bool flushed = TRY(link_.flush());
  const bool queued = queue_parts();
  return received || flushed || queued;
}

std::optional<MessageConnection::Received> MessageConnection::take() {
  if (received_.empty()) return std::nullopt;
  Received message = std::move(received_.front());
  received_.pop_front();
  return message;
}

Result<> MessageConnection::control(const Message& message, ByteSpan payload) {
  Reader reader(payload);
  Incoming incoming{.announced = reader.number<uint64_t>()};
  TRY(reader.finish("an announcement"));
  if (message.type != announcement || incoming.announced == 0)
    return fail(Errc::protocol, format("message type {}", message.type));
  if (incoming_.size() >= options_.incoming_max || incoming_.contains(message.stream))
    return fail(Errc::protocol, format("message {} is announced too early", message.stream));
  incoming.too_long = incoming.announced > options_.message_bytes_max;
  if (!incoming.too_long) incoming.body = memory_.take(incoming.announced);
  incoming_.emplace(message.stream, std::move(incoming));
  return {};
}

Result<PayloadTarget> MessageConnection::place(const Message& message) {
  const auto at = incoming_.find(message.stream);
  if (message.type != body_part || at == incoming_.end())
    return fail(Errc::protocol, format("data of message {} came first", message.stream));
  Incoming& incoming = at->second;
  if (message.length > incoming.announced - incoming.received)
    return fail(Errc::protocol, format("message {} is longer than announced", message.stream));
  if (incoming.too_long) {
    incoming.received += message.length;
    complete(message.stream);
    return PayloadTarget{PayloadTarget::Action::discard};
  }
  const std::span<std::byte> body = *incoming.body;
  std::optional<std::span<std::byte>> elsewhere;
  // A message of the same id waits for take(), which may end the caller's use of the memory.
  const bool again = std::ranges::any_of(
      received_, [&](const Received& received) { return received.id == message.stream; });
  if (placer_ && !again)
    elsewhere = placer_({message.stream, body.first(incoming.received), message.length});
  return PayloadTarget{PayloadTarget::Action::take,
                       elsewhere.value_or(body.subspan(incoming.received, message.length))};
}

Result<> MessageConnection::arrived(const Message& message) {
  incoming_.at(message.stream).received += message.length;
  complete(message.stream);
  return {};
}

void MessageConnection::complete(uint32_t id) {
  const auto at = incoming_.find(id);
  if (at->second.received < at->second.announced) return;
  Incoming& incoming = at->second;
  if (incoming.too_long) incoming.body = std::make_shared<Bytes>();
  received_.push_back({.id = id, .too_long = incoming.too_long, .body = std::move(incoming.body)});
  incoming_.erase(at);
}

}  // namespace dt
