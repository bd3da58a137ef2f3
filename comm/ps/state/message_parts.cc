#include "comm/ps/state/message_parts.h"

#include "comm/ps/state/messages.h"

#include <utility>

namespace dt {

MessageParts MessageParts::of(Bytes bytes) {
  MessageParts message{.own = std::make_shared<const Bytes>(std::move(bytes))};
  message.parts.emplace_back(*message.own);
  return message;
}

size_t MessageParts::size() const {
  size_t bytes = 0;
  for (const ByteSpan part : parts)
    bytes += part.size();
  return bytes;
}

Bytes MessageParts::joined() const {
  Bytes bytes;
  bytes.reserve(size());
  for (const ByteSpan part : parts)
    bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

void PartsWriter::begin_aligned(size_t size) {
  number(static_cast<uint64_t>(size));
  write_zeros(*this, padding_at(view().size() + borrowed_bytes_));
}

void PartsWriter::copy_aligned(ByteSpan bytes) {
  begin_aligned(bytes.size());
  raw(bytes);
}

void PartsWriter::borrow_aligned(ByteSpan bytes, std::shared_ptr<const void> owner) {
  if (bytes.size() < borrowed_bytes_min) return copy_aligned(bytes);
  begin_aligned(bytes.size());
  borrowed_.push_back({view().size(), bytes});
  borrowed_bytes_ += bytes.size();
  if (owner != nullptr) owners_.push_back(std::move(owner));
}

MessageParts PartsWriter::take_parts() {
  MessageParts message{.own = std::make_shared<const Bytes>(take()), .parts = {}, .owners = {}};
  message.owners = std::move(owners_);
  const ByteSpan own = *message.own;
  size_t written = 0;
  const auto add_own = [&](size_t end) {
    if (end > written) message.parts.push_back(own.subspan(written, end - written));
    written = end;
  };
  for (const Borrowed& borrowed : borrowed_) {
    add_own(borrowed.at);
    message.parts.push_back(borrowed.bytes);
  }
  add_own(own.size());
  return message;
}

}  // namespace dt
