#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

/// What stands before each frame's payload on every link of ours. 16 bytes on the wire,
/// little-endian:
///   u32 length of the payload | u8 version | u8 type | u16 zero | u32 generation | u32 stream
struct FrameHeader {
  uint32_t length = 0;
  uint8_t type = 0;
  uint32_t generation = 0;
  uint32_t stream = 0;
  bool operator==(const FrameHeader&) const = default;
};

inline constexpr size_t frame_header_bytes = 16;
inline constexpr uint8_t frame_version = 1;
/// No frame's payload is longer; a longer one is refused before anything is allocated.
inline constexpr uint32_t frame_payload_bytes_max = 1U << 20;

/// A frame whose payload still lies in the receive buffer.
struct FrameView {
  FrameHeader header;
  ByteSpan payload;
};

/// Appends the frame to `out`; header.length is taken from the payload.
void append_frame(Bytes& out, FrameHeader header, ByteSpan payload);

/// Appends the header alone, header.length included: for payloads that travel by themselves.
void append_header(Bytes& out, const FrameHeader& header);

/// The header at the front of `bytes`, or none when it is not whole yet. Any length is taken: the
/// caller bounds it.
Result<std::optional<FrameHeader>> front_header(ByteSpan bytes);

/// The frame at the front of `bytes`, or none when it is not whole yet; an error when it cannot be
/// one.
Result<std::optional<FrameView>> front_frame(ByteSpan bytes);

}  // namespace dt
