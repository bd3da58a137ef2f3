#include "rendezvous/secure/record_layer.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

namespace dt {

namespace {

/// Longer ones would delay the first bytes, which wait for the tag.
constexpr size_t record_bytes_max = size_t{64} << 10;

}  // namespace

RecordLayer::RecordLayer(Session session) : session_(std::move(session)) {
  assert(session_.encrypts_data());
}

void RecordLayer::seal(Bytes& wire, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ByteSpan content = bytes.first(std::min(bytes.size(), record_bytes_max));
    bytes = bytes.subspan(content.size());
    const SealedHeader head =
        session_.seal_header({.length = static_cast<uint32_t>(content.size())});
    wire.insert(wire.end(), head.begin(), head.end());
    const size_t at = wire.size();
    wire.resize(at + content.size() + payload_tag_bytes);
    session_.seal_payload(head, content, std::span(wire).subspan(at));
  }
}

Result<size_t> RecordLayer::open(ByteSpan wire, Bytes& bytes) {
  size_t used = 0;
  for (;;) {
    const ByteSpan rest = wire.subspan(used);
    const auto header = TRY(front_header(rest));
    if (!header) return used;
    if (header->length > record_bytes_max)
      return fail(Errc::protocol, format("a record of {} bytes", header->length));
    const size_t sealed_bytes = header->length + payload_tag_bytes;
    const size_t record_bytes = sizeof(SealedHeader) + sealed_bytes;
    if (rest.size() < record_bytes) return used;
    size_t head_bytes = 0;
    TRY(session_.open_header(rest, &head_bytes));
    const size_t at = bytes.size();
    const ByteSpan sealed = rest.subspan(head_bytes, sealed_bytes);
    bytes.insert(bytes.end(), sealed.begin(), sealed.end());
    TRY(session_.open_payload(rest.first(head_bytes), std::span(bytes).subspan(at)));
    bytes.resize(at + header->length);
    used += record_bytes;
  }
}

}  // namespace dt
