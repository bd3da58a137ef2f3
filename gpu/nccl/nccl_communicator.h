#pragma once

#include "base/clock.h"
#include "gpu/nccl/nccl_library.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

namespace dt {

/// The place of a rank in a communicator.
struct NcclMembership {
  NcclUniqueId id = {};
  int rank = 0;
  int size = 1;
};

/// A sum, product, minimum, maximum or average over all ranks.
struct NcclAllReduce {
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;
  NcclType type = NcclType::float32;
  NcclOp op = NcclOp::sum;
  CudaStreamHandle stream = nullptr;
};

/// A communicator of NCCL that never blocks: each call that NCCL leaves in progress is polled until
/// its deadline. All calls belong to one thread but stop(), which any thread may call. A
/// communicator that has failed is unusable.
///
///   joining ──▶ usable ──▶ call in progress ──▶ usable
///      └──────────┴── failure, deadline, stop() ──┴──▶ failed ── abort ──▶ freed
class NcclCommunicator {
 public:
  /// Waits until all ranks have joined, at most until the deadline. Fails with Errc::timeout, or
  /// with the text of NCCL.
  static Result<std::unique_ptr<NcclCommunicator>> join(const NcclLibrary& nccl,
                                                        const NcclMembership& membership,
                                                        Time deadline);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  /// Destroys a usable communicator. Aborts one that has failed.
  ~NcclCommunicator();

  int rank() const { return rank_; }

  /// Returns when NCCL has enqueued the operation on the stream. Fails as join(), and with the
  /// error of stop(). Memory of a call that was not completed is free when the communicator is
  /// destroyed.
  Result<> all_reduce(const NcclAllReduce& call, Time deadline);

  /// Ends a call that waits, and all later ones, with `why`. Called when a peer is dead: NCCL does
  /// not detect all deaths.
  void stop(Error why);

 private:
  NcclCommunicator(NcclLibrary nccl, int rank) : nccl_(std::move(nccl)), rank_(rank) {}
  /// Waits for a call that returned `status`.
  Result<> settle(const char* call, NcclStatus status, Time deadline);
  Result<> settled(const char* call, NcclStatus status, Time deadline);
  /// Returns the error of stop() after at most `time`, earlier when it is called; none: not called.
  std::optional<Error> wait_for_stop(Duration time);

  NcclLibrary nccl_;
  int rank_;
  NcclComm comm_ = nullptr;
  bool failed_ = false;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::optional<Error> stop_ = {};
};

/// Makes the id of a new communicator; one rank does, and sends it to the others.
Result<NcclUniqueId> make_nccl_id(const NcclLibrary& nccl);

}  // namespace dt
