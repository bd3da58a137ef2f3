#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/kernels/element.h"
#include "base/result.h"
#include "gpu/device.h"
#include "gpu/kernels/peer_signals.cuh"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// A rank's memory, for the others.
struct PeerMemoryOffer {
  Bytes handle = {};        ///< Device::share()
  uint64_t data_bytes = 0;  ///< of the largest sum
  uint32_t blocks = 0;      ///< Device::prepare_peers()
};
Bytes encode(const PeerMemoryOffer& offer);
/// Fails with Errc::protocol for bytes that no rank sends.
Result<PeerMemoryOffer> decode_peer_memory_offer(ByteSpan bytes);

/// How the ranks wait for each other.
enum class PeerMeeting : uint8_t {
  kernels,  ///< within the kernels, which is faster
  streams,  ///< between kernels, for ranks that share a device: a kernel that waits would keep it
};

/// A sum over all ranks.
struct PeerSum {
  ElementType type = ElementType::float32;
  size_t count = 0;
  const std::byte* from = nullptr;  ///< memory of the device, at any address
  std::byte* to = nullptr;          ///< may equal `from`
  /// How long it waits for each peer. Where streams wait, the last sum's holds for all, and begins
  /// when status() finds one that waits.
  Duration patience = seconds(600);
  size_t bytes() const { return count * element_bytes(type); }
};

/// Memory of the devices of one host's ranks. Kernels of all ranks read it, so that they sum
/// without the host's help. The results are the same on all ranks. Arrays are added in the order of
/// ranks, and 16-bit floats in float32.
///
/// Each rank allocates its memory, and sends an offer to the others. Then it opens theirs. All make
/// the same sums in the same order. One thread at a time, but stop() and status() are for any
/// thread.
///
/// At the end each rank closes the memory of the others, and frees its own when all have closed it.
/// By CUDA's documentation of cudaIpcOpenMemHandle(), a free before that is undefined behaviour.
/// So after a failure, when no rank knows what the others do, memory that was offered is never
/// freed: the driver frees it at the end of the process.
///
///   memory of a rank:  signals │ input 0 │ input 1 │ results 0 │ results 1
///                              sums use both halves in turn
class PeerMemory {
 public:
  /// Allocates for sums of up to `data_bytes`. While the device has too little, tries half as much,
  /// down to 64 KiB. Waits for the device.
  static Result<std::unique_ptr<PeerMemory>> allocate(Device& device, size_t data_bytes);
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  ~PeerMemory();

  /// From now on, others may open the memory.
  Result<PeerMemoryOffer> offer();
  /// Opens the memory of all others. Requires at most peer_ranks_max offers, by rank, and the same
  /// meeting of all.
  Result<> open(int rank, std::span<const PeerMemoryOffer> offers, PeerMeeting meeting);

  /// Closes the memory of all others. No sum of this rank runs any more, and none follows.
  void close();
  /// All others have closed this rank's memory, or have never opened it. So its end frees it.
  void note_all_closed() { others_have_it_ = false; }

  /// The size of the largest sum of all ranks.
  size_t data_bytes() const { return data_bytes_; }
  /// Queues a sum. Requires a type that peers_can_sum() accepts, and at most data_bytes().
  Result<> sum(DeviceStream& stream, const PeerSum& sum);
  /// Ends all work that waits for a peer, now and later. Its sums have no results. Where streams
  /// wait, status() is called until they have ended.
  void stop();
  /// Fails with Errc::timeout when a sum has reached its time limit, and with Errc::closed when
  /// stop() has ended one. Where streams wait, the device has no clock, so this call ends their
  /// waiting.
  Result<> status();
  /// A flag in memory of the device. It is set before a sum ends without a result. Only for later
  /// work of the stream.
  const uint32_t* failed() const { return &reinterpret_cast<PeerSignals*>(own_.at())->failed; }

 private:
  /// The words of pinned memory that the host and kernels share.
  struct HostWords {
    uint32_t stop = 0;
    PeerTimeout timeouts[peer_blocks_max] = {};
    uint32_t begun = 0;                 ///< the last sum that the stream has begun
    uint32_t met[peer_ranks_max] = {};  ///< the last sum for which it has met this rank
  };

  explicit PeerMemory(Device& device) : device_(device) {}
  Result<> allocate_for(size_t data_bytes);
  Result<> clear();
  HostWords& words() const { return *reinterpret_cast<HostWords*>(pinned_.at()); }
  std::byte* part(size_t rank, size_t number) const;
  PeerSignals& signals(size_t rank) const { return *reinterpret_cast<PeerSignals*>(memory_[rank]); }
  Result<> sum_by_streams(DeviceStream& stream, const PeerSum& sum, PeerAllReduce call);
  /// A sum that waits for a peer.
  struct Wait {
    uint32_t sum = 0;
    size_t peer = 0;
    bool operator==(const Wait&) const = default;
  };
  std::optional<Wait> find_wait() const;
  Result<> status_of_kernels() const;
  void end_waits();

  Device& device_;
  size_t data_bytes_ = 0;
  int blocks_ = 1;
  int rank_ = 0;
  bool half_ = false;
  bool others_have_it_ = false;  ///< they may have opened own_
  PeerMeeting meeting_ = PeerMeeting::kernels;
  DeviceBuffer own_ = {};
  DeviceBuffer pinned_ = {};
  std::vector<DeviceBuffer> opened_ = {};  ///< by rank; none for this one
  std::vector<std::byte*> memory_ = {};    ///< of all ranks

  // Where streams wait.
  mutable std::mutex mutex_;
  std::unique_ptr<DeviceStream> ending_ = {};  ///< on which waits are ended
  uint32_t sums_ = 0;                          ///< the number of the last sum
  Duration patience_ = {};                     ///< of the last sum
  std::optional<Wait> wait_ = {};              ///< as the last status() has found it
  Time waits_since_ = {};
  std::optional<Error> failure_ = {};
};

}  // namespace dt
