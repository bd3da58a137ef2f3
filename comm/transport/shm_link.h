#pragma once

#include "base/io/fd.h"
#include "comm/transport/link.h"
#include "comm/transport/shm_ring.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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

/// Two rings in memory that two tasks share, as one of them uses them.
struct ShmRings {
  std::shared_ptr<const void> memory;  ///< lives as long as they are used
  RingControl* out = nullptr;          ///< of the ring to the peer
  std::span<std::byte> out_data;
  RingControl* in = nullptr;  ///< of the ring from the peer
  std::span<std::byte> in_data;
};

/// A Link through two rings of the host's shared memory. Its only system calls wake a peer that
/// sleeps.
class ShmLink : public Link {
 public:
  ShmLink(ShmRings rings, std::shared_ptr<ShmPeer> peer);

  Result<size_t> send_parts(std::span<const ByteSpan> parts) override;
  Result<size_t> receive(std::span<std::byte> into) override;
  void close() override;
  bool exposed() const override { return false; }

 private:
  Result<size_t> write(ByteSpan bytes);

  std::shared_ptr<const void> memory_;
  std::shared_ptr<ShmPeer> peer_;
  RingWriter writer_;
  RingReader reader_;
};

}  // namespace dt
