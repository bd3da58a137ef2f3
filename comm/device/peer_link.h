#pragma once

#include "base/environment.h"
#include "base/io/log.h"
#include "comm/device/buffer_ranges.h"
#include "comm/device/rank_store.h"
#include "comm/device/staging_device.h"
#include "gpu/nccl/nccl_call.h"
#include "gpu/peers/peer_memory.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the value of DTRAIN_PEER_MAX, a size such as "256K"; none: it is not set. Fails with
/// Errc::input for others.
Result<std::optional<size_t>> peer_bytes_max(const Environment& environment);

/// Returns a text that is the same for all processes that can open each other's memory. These are
/// processes of one boot of one host, without a container between them.
std::string peer_place();

/// Waits for the stream until the deadline, and calls `watch` meanwhile.
Result<> watched_end(DeviceStream& stream, Time deadline, const std::function<void()>& watch);

/// The ranks of one host sum without NCCL, by kernels that read the memory of all (PeerMemory). All
/// ranks have the same link, and run the same calls by it.
///
/// They connect in steps. The ranks know the outcome of each at all of them before the next:
///
///   allocate ─▶ open the others' ─▶ sum known numbers ─▶ rank 0 compares with NCCL ─▶ a limit
///      └───────────────┴─────────────── a failure ──▶ no link
///
/// At the end each rank calls close(), and then gives the others notice. Memory that others may
/// have open is never freed, so a rank calls note_all_closed() when it has the notices of all.
///
/// One thread at a time, but stop() is for any thread.
class PeerLink {
 public:
  struct Terms {
    CallingRank self;
    DeviceStream* stream = nullptr;      ///< of NCCL
    const DeviceBuffer* free = nullptr;  ///< memory of the device that nobody uses meanwhile
    RankStore store;
    PeerMeeting meeting = PeerMeeting::kernels;  ///< the same on all ranks
    std::optional<size_t> bytes_max = {};        ///< the least of all ranks; none: rank 0 finds it
    /// Waits for the stream, and calls `watch` meanwhile. Fails when the job has ended.
    std::function<Result<>(const std::function<void()>& watch)> finish;
    /// Begins a call of NCCL on the stream.
    std::function<Result<>(const NcclCall& call)> nccl;
    /// Ends NCCL's kernels. Called before memory is freed that they, or the peers' kernels, use.
    std::function<void(const Error& why)> abandon;
    Log::Sink log = write_to_stderr;  ///< for warnings of rank 0
    /// For the first sums: they show whether the ranks reach each other at all.
    Duration patience = seconds(10);
  };
  /// Requires ranks of one peer_place(), at most peer_ranks_max. All of them call it. Returns null
  /// where some rank cannot use the memory of another, of which rank 0 warns. Fails when the job
  /// has ended, or NCCL has failed.
  static Result<std::unique_ptr<PeerLink>> connect(Terms terms);

  /// True for sums of up to the limit, of types that kernels have. The same on all ranks.
  bool runs(const NcclCall& call) const;
  /// Begins such a call on the stream. It ends without a result where a rank is late by `patience`.
  /// Programs may be late by any time: stop() ends what no rank will join.
  Result<> begin(const NcclCall& call, Duration patience = Duration::max());
  void stop() { memory_->stop(); }
  /// PeerMemory::close(). Later calls are NCCL's.
  void close() {
    limit_ = 0;
    memory_->close();
  }
  /// PeerMemory::note_all_closed()
  void note_all_closed() { memory_->note_all_closed(); }
  /// Fails when a sum has ended without a result. To be called again and again while a sum runs.
  Result<> status() { return memory_->status(); }
  /// PeerMemory::failed()
  const uint32_t* failed() const { return memory_->failed(); }

 private:
  explicit PeerLink(Terms terms) : terms_(std::move(terms)) {}
  Result<bool> link();
  Result<bool> share_memory();
  /// One for this rank, or for all.
  struct Offers {
    std::vector<PeerMemoryOffer> memory = {};
    bool any_has_shrunk = false;
  };
  Result<Offers> exchange(const Offers& own);
  Result<> try_sums();
  Result<> try_sum(size_t count);
  Result<> find_limit();
  Result<Duration> measure(const std::function<Result<>()>& begin);
  Result<bool> faster_than_nccl(size_t bytes);
  Result<> wait_for_sum();
  void end_sums(const Error* failure);
  void close_with_all();
  Result<std::vector<Bytes>> gather(const std::string& step, const Bytes& own) const;
  Result<bool> all_did(const std::string& step, const Result<>& own) const;
  void warn(const std::string& text) const;

  Terms terms_;
  std::unique_ptr<PeerMemory> memory_ = {};
  size_t limit_ = 0;
};

}  // namespace dt
