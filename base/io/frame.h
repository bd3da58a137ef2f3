#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

/// The header before each frame's payload, on all our connections. On the wire it is little-endian.
/// Its 16 bytes are:
///
///     u32 length of the payload | u8 version | u8 type | u16 zero | u32 generation | u32 stream
struct FrameHeader {
  uint32_t length = 0;
  uint8_t type = 0;
  uint32_t generation = 0;
  uint32_t stream = 0;
  bool operator==(const FrameHeader&) const = default;
};

inline constexpr size_t frame_header_bytes = 16;
inline constexpr uint8_t frame_version = 1;
/// The maximum of a payload. A longer one is refused before any memory is allocated.
inline constexpr uint32_t frame_payload_bytes_max = 1U << 20;

/// A frame whose payload is still in the receive buffer.
struct FrameView {
  FrameHeader header;
  ByteSpan payload;
};

/// Appends a frame to `out`; header.length is set from the payload.
void append_frame(Bytes& out, FrameHeader header, ByteSpan payload);

/// Returns the header as it is on the wire.
std::array<std::byte, frame_header_bytes> header_bytes(const FrameHeader& header);

/// Appends only the header, with its length: for payloads that are sent separately.
void append_header(Bytes& out, const FrameHeader& header);

/// Returns the header at the front of `bytes`; none while it is incomplete. Accepts any length: the
/// caller must limit it.
Result<std::optional<FrameHeader>> front_header(ByteSpan bytes);

/// Returns the frame at the front of `bytes`; none while it is incomplete. Fails with
/// Errc::protocol when it is no frame.
Result<std::optional<FrameView>> front_frame(ByteSpan bytes);

}  // namespace dt
