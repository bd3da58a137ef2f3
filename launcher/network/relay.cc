#include "launcher/network/relay.h"

#include "base/format.h"
#include "rendezvous/secure/handshake.h"

#include <algorithm>

namespace dt {

namespace {

/// A connection is removed this long after relay_end, even if its peer does not read the rest.
constexpr Duration close_patience = seconds(5);

}  // namespace

Result<> Relay::add(uint32_t stream, Fd connection) {
  Connection added;
  added.stream =
      TRY(Stream::open(loop_, std::move(connection), Fd(),
                       {.on_bytes = [this, stream](ByteSpan bytes) { return read(stream, bytes); },
                        .on_end = [this, stream](const std::optional<Error>&) { ended(stream); },
                        .on_drained = [this, stream] { grant(stream, connections_.at(stream)); }}));
  const bool fresh = connections_.emplace(stream, std::move(added)).second;
  if (!fresh) return fail(Errc::protocol, format("relayed stream {} is open already", stream));
  return {};
}

Result<> Relay::receive(MessageType type, uint32_t stream, ByteSpan payload) {
  const auto at = connections_.find(stream);
  if (at == connections_.end() || at->second.closing) return {};
  Connection& connection = at->second;
  if (!connection.stream) {
    if (type == MessageType::relay_end) connections_.erase(at);
    return {};
  }
  switch (type) {
    case MessageType::relay_bytes:
      TRY(connection.credit.received(payload.size()));
      connection.received += payload.size();
      connection.stream->write(payload);
      grant(stream, connection);
      return {};
    case MessageType::relay_credit: {
      const uint32_t bytes = TRY(decode_credit(payload));
      TRY(connection.credit.granted(bytes));
      send_waiting(stream, connection);
      if (connection.waiting.empty()) connection.stream->resume();
      return {};
    }
    case MessageType::relay_end:
      close(stream, connection);
      return {};
    default:
      return fail(Errc::protocol, format("message {} of a relay", static_cast<int>(type)));
  }
}

size_t Relay::read(uint32_t stream, ByteSpan bytes) {
  Connection& connection = connections_.at(stream);
  if (connection.closing) return bytes.size();  // discarded: the other end has closed
  if (!connection.first && !bytes.empty()) connection.first = bytes.front();
  connection.waiting.insert(connection.waiting.end(), bytes.begin(), bytes.end());
  send_waiting(stream, connection);
  if (!connection.waiting.empty()) connection.stream->pause();
  return bytes.size();
}

void Relay::send_waiting(uint32_t stream, Connection& connection) {
  ByteSpan left = connection.waiting;
  while (!left.empty() && connection.credit.room() > 0) {
    const size_t size =
        std::min({left.size(), connection.credit.room(), size_t{stream_chunk_bytes}});
    connection.credit.sent(size);
    send_(MessageType::relay_bytes, stream, left.first(size));
    left = left.subspan(size);
  }
  connection.waiting.erase(connection.waiting.begin(),
                           connection.waiting.end() - static_cast<ptrdiff_t>(left.size()));
}

void Relay::grant(uint32_t stream, Connection& connection) {
  const uint32_t bytes = connection.credit.to_grant(connection.stream->unsent());
  if (bytes > 0 && !connection.closing) {
    send_(MessageType::relay_credit, stream, encode_credit(bytes));
  }
}

void Relay::close(uint32_t stream, Connection& connection) {
  connection.closing = true;
  connection.waiting.clear();
  connection.stream->close_after_sending();
  // Bytes are still read, and discarded. A close with unread bytes would reset the connection. The
  // peer might then lose the bytes that we have just written.
  connection.stream->resume();
  connection.patience = loop_.after(close_patience, [this, stream] { ended(stream); });
}

void Relay::ended(uint32_t stream) {
  Connection& connection = connections_.at(stream);
  if (connection.closing) {
    connections_.erase(stream);
  } else {
    connection.stream.reset();
    connection.waiting.clear();
  }
  send_(MessageType::relay_end, stream, {});
}

/// True when the rendezvous has answered a task's handshake with more than the challenge. It does
/// so only after the token is proved. A request of Horovod proves nothing, whatever the answer.
bool Relay::Connection::proved() const {
  return first && begins_handshake(*first) && received > challenge_bytes;
}

uint32_t Relay::free_stream(uint32_t from) const {
  while (from == 0 || connections_.contains(from))
    ++from;
  return from;
}

void Relay::end_unproved(size_t count) {
  auto ending = static_cast<size_t>(
      std::ranges::count_if(connections_, [](const auto& each) { return !each.second.stream; }));
  for (auto at = connections_.begin(); at != connections_.end() && ending < count;) {
    const auto& [stream, connection] = *at++;
    if (!connection.stream || connection.proved()) continue;
    ended(stream);
    ++ending;
  }
}

}  // namespace dt
