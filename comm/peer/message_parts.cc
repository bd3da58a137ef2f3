#include "comm/peer/message_parts.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

constexpr size_t alignment = 8;

}  // namespace

size_t padding_at(size_t offset) {
  return (alignment - offset % alignment) % alignment;
}

void write_zeros(Writer& writer, size_t count) {
  constexpr std::array<std::byte, alignment> zeros = {};
  writer.raw(ByteSpan(zeros).first(count));
}

void encode_aligned(Writer& writer, ByteSpan bytes) {
  writer.number(static_cast<uint64_t>(bytes.size()));
  write_zeros(writer, padding_at(writer.view().size()));
  writer.raw(bytes);
}

ByteSpan decode_aligned(Reader& reader, ByteSpan whole) {
  const auto size = reader.number<uint64_t>();
  const size_t at = whole.size() - reader.rest().size();
  reader.raw(padding_at(at));
  return reader.raw(size);
}

MessageParts MessageParts::of(Bytes bytes) {
  MessageParts message{.own = std::make_shared<const Bytes>(std::move(bytes))};
  message.parts.push_back({*message.own});
  return message;
}

size_t MessageParts::size() const {
  size_t bytes = 0;
  for (const MessagePart& part : parts)
    bytes += part.bytes.size();
  return bytes;
}

Bytes MessageParts::joined() const {
  Bytes bytes;
  bytes.reserve(size());
  for (const MessagePart& part : parts) {
    const ByteSpan ready = part.ready();
    bytes.insert(bytes.end(), ready.begin(), ready.end());
  }
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

void PartsWriter::borrow_later(ByteSpan bytes, std::shared_ptr<LazyBytes> later) {
  if (bytes.size() < borrowed_bytes_min)
    return copy_aligned(MessagePart{bytes, later.get()}.ready());
  borrow_aligned(bytes);
  borrowed_.back().later = later.get();
  owners_.push_back(std::move(later));
}

MessageParts PartsWriter::take_parts() {
  MessageParts message{.own = std::make_shared<const Bytes>(take()), .parts = {}, .owners = {}};
  message.owners = std::move(owners_);
  const ByteSpan own = *message.own;
  size_t written = 0;
  const auto add_own = [&](size_t end) {
    if (end > written) message.parts.push_back({own.subspan(written, end - written)});
    written = end;
  };
  for (const Borrowed& borrowed : borrowed_) {
    add_own(borrowed.at);
    const size_t most = borrowed.later ? later_part_bytes : borrowed.bytes.size();
    for (ByteSpan rest = borrowed.bytes; !rest.empty();) {
      const ByteSpan next = rest.first(std::min(rest.size(), most));
      message.parts.push_back({next, borrowed.later});
      rest = rest.subspan(next.size());
    }
  }
  add_own(own.size());
  return message;
}

}  // namespace dt
