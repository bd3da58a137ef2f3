#include "comm/ps/message_connection.h"

#include "base/format.h"

#include <cassert>
#include <utility>

namespace dt {

namespace {

constexpr uint8_t announcement = 1;
constexpr uint8_t body_part = data_frame_bit | 1;

}  // namespace

MessageConnection::MessageConnection(Fd socket, Session session, Options options)
    : options_(options),
      socket_(std::make_shared<TcpSocket>(std::move(socket), std::move(session))),
      tcp_(socket_),
      link_({.link = &tcp_, .generation = options.generation}) {
}

Result<> MessageConnection::send(uint32_t id, Bytes body) {
  return send(id, std::make_shared<const Bytes>(std::move(body)));
}

Result<> MessageConnection::send(uint32_t id, std::shared_ptr<const Bytes> body) {
  assert(!body->empty());
  Writer length;
  length.number(static_cast<uint64_t>(body->size()));
  TRY(link_.send_control(announcement, id, length.view()));
  outgoing_.push_back({id, std::move(body)});
  link_.send_data(body_part, id, *outgoing_.back().body);
  return {};
}

Result<> MessageConnection::advance() {
  socket_->report({.readable = true, .writable = true});
  // The link may hold bytes that it has read ahead, for which poll(2) reports nothing.
  while (TRY(link_.receive(*this))) {
  }
  TRY(link_.flush());
  std::erase_if(outgoing_,
                [this](const Outgoing& message) { return !link_.sending(body_part, message.id); });
  return {};
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
  if (!incoming.too_long) incoming.body.resize(incoming.announced);
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
  const std::span<std::byte> body = incoming.body;
  return PayloadTarget{PayloadTarget::Action::take,
                       body.subspan(incoming.received, message.length)};
}

Result<> MessageConnection::arrived(const Message& message) {
  incoming_.at(message.stream).received += message.length;
  complete(message.stream);
  return {};
}

void MessageConnection::complete(uint32_t id) {
  const auto at = incoming_.find(id);
  if (at->second.received < at->second.announced) return;
  received_.push_back(
      {.id = id, .too_long = at->second.too_long, .body = std::move(at->second.body)});
  incoming_.erase(at);
}

}  // namespace dt
