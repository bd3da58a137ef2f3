#include "comm/transport/shm_link.h"

#include "comm/transport/doorbell.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace dt {

namespace {
// Bytes are published in pieces, so that the peer copies out while this task copies in.
constexpr size_t ring_piece_bytes = size_t{32} << 10;
}  // namespace

ShmLink::ShmLink(ShmRings rings, std::shared_ptr<ShmPeer> peer)
    : memory_(std::move(rings.memory)),
      peer_(std::move(peer)),
      writer_(*rings.out, rings.out_data),
      reader_(*rings.in, rings.in_data) {
}

Result<size_t> ShmLink::send_parts(std::span<const ByteSpan> parts) {
  if (peer_->closed.load(std::memory_order_acquire)) {
    return fail(Errc::closed, "the process on this host is gone");
  }
  size_t sent = 0;
  for (const ByteSpan part : parts) {
    const size_t n = TRY(write(part));
    sent += n;
    if (n < part.size()) break;
  }
  return sent;
}

Result<size_t> ShmLink::write(ByteSpan bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const size_t n =
        TRY(writer_.write(bytes.subspan(sent, std::min(ring_piece_bytes, bytes.size() - sent))));
    if (n == 0) break;
    sent += n;
    peer_->wake();
  }
  return sent;
}

Result<size_t> ShmLink::receive(std::span<std::byte> into) {
  // Loaded before the ring is read: a peer writes first and closes then.
  const bool closed = peer_->closed.load(std::memory_order_acquire);
  const size_t n = TRY(reader_.read(into));
  if (reader_.made_room()) peer_->wake();
  if (n == 0 && closed && !into.empty()) {
    return fail(Errc::closed, "the process on this host is gone");
  }
  return n;
}

void ShmLink::close() {
  peer_->closed.store(true, std::memory_order_release);
  ::shutdown(peer_->socket.get(), SHUT_RDWR);
}

void ShmPeer::wake() {
  // The load comes after the position's store in the single order that shm_ring.h describes. The
  // exchange makes one of several peers ring.
  if (asleep->load(std::memory_order_seq_cst) == 0) return;
  if (asleep->exchange(0, std::memory_order_seq_cst) != 0) ring(doorbell.get());
}

}  // namespace dt
