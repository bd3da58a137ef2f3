#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <optional>

namespace dt {

/// A message between two processes, and a descriptor that goes with it.
struct Packet {
  Bytes bytes;
  Fd descriptor = {};  ///< empty: none
};

/// Maximum size of a packet.
inline constexpr size_t packet_bytes_max = size_t{64} << 10;

/// A close-on-exec Unix pair that keeps the bounds of packets, blocking.
Result<SocketPair> make_packet_pair();
/// Sends a packet; the other process gets a duplicate of its descriptor. Waits for room. Fails with
/// Errc::closed when the other end is gone.
Result<> send_packet(int socket, const Packet& packet);
/// Waits for a packet and returns it; none when the other end is gone.
Result<std::optional<Packet>> receive_packet(int socket);

}  // namespace dt
