#pragma once

#include "base/io/fd.h"
#include "comm/transport/link.h"
#include "comm/transport/shm_ring.h"
#include "comm/transport/shm_segment.h"

#include <atomic>
#include <memory>

namespace dt {

/// State of a peer on this host that its ShmLink and the mesh share.
struct ShmPeer {
  Fd doorbell;                       ///< the peer's
  Fd socket;                         ///< to the peer; carries no data, its end means the peer's end
  std::atomic<bool> closed = false;  ///< the socket has ended; bytes in the ring are still read
  std::atomic<uint32_t>* asleep = nullptr;  ///< the peer's sleep flag

  /// Wakes the peer if it sleeps. Called after a sequentially consistent store of a position.
  void wake();
};

/// A Link through two rings of the host's shared memory. Its only system calls wake a peer that
/// sleeps.
class ShmLink : public Link {
 public:
  /// `pair.from` is our slot, `pair.to` the peer's.
  ShmLink(std::shared_ptr<ShmSegment> segment, ShmSegment::Pair pair,
          std::shared_ptr<ShmPeer> peer);

  Result<size_t> send_parts(std::span<const ByteSpan> parts) override;
  Result<size_t> receive(std::span<std::byte> into) override;
  void close() override;
  bool exposed() const override { return false; }

 private:
  Result<size_t> write(ByteSpan bytes);

  std::shared_ptr<ShmSegment> segment_;
  std::shared_ptr<ShmPeer> peer_;
  RingWriter writer_;
  RingReader reader_;
};

}  // namespace dt
