#include "launcher/connect/dialed_connection.h"

#include "base/format.h"
#include "base/io/socket.h"

#include <cassert>
#include <utility>

namespace dt {

DialedConnection::DialedConnection(Loop& loop, Events events, Handlers handlers)
    : loop_(loop), events_(std::move(events)), handlers_(std::move(handlers)) {
}

DialedConnection::~DialedConnection() {
  events_.on_destroyed(this);
}

Result<> DialedConnection::attach(Fd connection, Session session, ByteSpan verdict) {
  assert(awaited());
  const auto from = peer_address(connection.get());
  stream_ =
      TRY(Stream::open(loop_, std::move(connection), Fd(),
                       {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                        .on_end = [this](const std::optional<Error>& why) { stream_ended(why); },
                        .on_drained = handlers_.on_drained}));
  records_.emplace(std::move(session));
  from_ = from ? format("by itself, from {}", from->ip) : "by itself";
  stream_->write(verdict);
  return {};
}

void DialedConnection::give_up(CloseReason reason) {
  assert(awaited());
  end(std::move(reason));
}

size_t DialedConnection::receive(ByteSpan bytes) {
  heard_ = true;
  const auto used = records_->open(bytes, opened_);
  if (!used) {
    stream_.reset();
    end({.why = "its connection: " + used.error().message});
    return bytes.size();
  }
  const size_t read = handlers_.on_bytes(opened_);
  opened_.erase(opened_.begin(), opened_.begin() + static_cast<ptrdiff_t>(read));
  return *used;
}

void DialedConnection::stream_ended(const std::optional<Error>& why) {
  stream_.reset();
  // Its first way to this machine may be one that carries no data.
  if (!heard_) return;
  end({.why = why ? "its connection ended: " + why->message : "its connection ended"});
}

void DialedConnection::end(CloseReason reason) {
  ended_ = true;
  events_.on_settled();
  const auto on_end = handlers_.on_end;  // a copy: the call may destroy this
  on_end(std::move(reason));
}

void DialedConnection::write(ByteSpan bytes) {
  if (!stream_) return;
  Bytes sealed;
  records_->seal(sealed, bytes);
  stream_->write(sealed);
}

void DialedConnection::arrived() {
  arrived_ = true;
  events_.on_settled();
}

void DialedConnection::close_after_sending() {
  // Without an agent there is nothing to finish.
  if (!stream_ || !arrived_) return hang_up();
  finished_ = events_.stays_until_dismissed;
  if (!finished_) stream_->close_after_sending();
}

void DialedConnection::dismiss(ByteSpan frame) {
  if (!stream_ || std::exchange(dismissed_, true)) return;
  write(frame);
  stream_->close_after_sending();
}

void DialedConnection::hang_up() {
  stream_.reset();
  if (std::exchange(ended_, true)) return;
  events_.on_settled();
}

AgentConnection::CloseReason DialedConnection::so_far() {
  return {.why = stream_ ? "its connection is silent" : "its agent has not connected"};
}

}  // namespace dt
