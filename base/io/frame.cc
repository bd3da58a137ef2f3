#include "base/io/frame.h"

#include "base/format.h"

#include <cassert>
#include <cstring>

namespace dt {

std::array<std::byte, frame_header_bytes> header_bytes(const FrameHeader& header) {
  std::array<std::byte, frame_header_bytes> bytes = {};
  std::byte* at = bytes.data();
  const auto put = [&at](auto value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  };
  put(header.length);
  put(frame_version);
  put(header.type);
  put(uint16_t{0});
  put(header.generation);
  put(header.stream);
  return bytes;
}

void append_header(Bytes& out, const FrameHeader& header) {
  const auto head = header_bytes(header);
  out.insert(out.end(), head.begin(), head.end());
}

void append_frame(Bytes& out, FrameHeader header, ByteSpan payload) {
  assert(payload.size() <= frame_payload_bytes_max);
  header.length = static_cast<uint32_t>(payload.size());
  append_header(out, header);
  out.insert(out.end(), payload.begin(), payload.end());
}

Result<std::optional<FrameHeader>> front_header(ByteSpan bytes) {
  if (bytes.size() < frame_header_bytes) return std::optional<FrameHeader>();
  Reader reader(bytes.first(frame_header_bytes));
  FrameHeader header;
  header.length = reader.number<uint32_t>();
  const auto version = reader.number<uint8_t>();
  header.type = reader.number<uint8_t>();
  const auto zero = reader.number<uint16_t>();
  header.generation = reader.number<uint32_t>();
  header.stream = reader.number<uint32_t>();
  if (version != frame_version) {
    return fail(Errc::protocol,
                format("frame version {}, this build speaks {}", version, frame_version));
  }
  if (zero != 0) return fail(Errc::protocol, "frame with reserved bits set");
  return std::optional(header);
}

Result<std::optional<FrameView>> front_frame(ByteSpan bytes) {
  const auto header = TRY(front_header(bytes));
  if (!header) return std::optional<FrameView>();
  if (header->length > frame_payload_bytes_max) {
    return fail(Errc::protocol,
                format("frame length {} > {}", header->length, frame_payload_bytes_max));
  }
  if (bytes.size() < frame_header_bytes + header->length) return std::optional<FrameView>();
  return std::optional(FrameView{*header, bytes.subspan(frame_header_bytes, header->length)});
}

}  // namespace dt
