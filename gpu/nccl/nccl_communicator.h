#pragma once

#include "base/clock.h"
#include "gpu/nccl/nccl_call.h"
#include "gpu/nccl/nccl_library.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// The place of a rank in a communicator.
struct NcclMembership {
  NcclUniqueId id = {};
  int rank = 0;
  int size = 1;
};

/// How long a call may be in progress.
struct NcclWait {
  Time deadline = Time::max();
  /// Asked again and again after 500 us: its failure ends the call. Empty: nothing is asked.
  std::function<Result<>()> watch = {};
};

class NcclCommunicator;

/// The calls of a communicator, beside others of its process.
struct NcclMemberCalls {
  NcclCommunicator* communicator = nullptr;
  std::span<const NcclCall> calls;
};

/// A communicator of NCCL that never blocks: each call that NCCL leaves in progress is polled until
/// its deadline. One thread at a time may call it, but stop() is for any thread at any time. A
/// communicator that has failed is unusable.
///
///   joining ──▶ usable ──▶ call in progress ──▶ usable
///      └──────────┴── failure, deadline, watch, stop() ──┴──▶ failed ── abort ──▶ freed
class NcclCommunicator {
 public:
  /// Waits until all ranks have joined, at most until the deadline. Fails with Errc::timeout, with
  /// the error of the watch, or with the text of NCCL.
  static Result<std::unique_ptr<NcclCommunicator>> join(const NcclLibrary& nccl,
                                                        const NcclMembership& membership,
                                                        const NcclWait& wait);
  /// Makes the communicators of all ranks, whose devices are in this process. Rank i has
  /// devices[i]. Fails as join().
  static Result<std::vector<std::unique_ptr<NcclCommunicator>>> join_together(
      const NcclLibrary& nccl, std::span<Device* const> devices, const NcclWait& wait);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  /// Destroys a usable communicator. Aborts one that has failed, or was stopped. Both can hang
  /// within NCCL: after 10 s the process ends with the status 70, and a line on standard error.
  ~NcclCommunicator();
  /// The 10 s begin when `begun` is true. NCCL's kernels cannot end while they are behind other
  /// work of their stream. The destructor asks it again and again.
  void end_after(std::function<bool()> begun) { begun_ = std::move(begun); }

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Returns when NCCL has enqueued the calls on their stream. NCCL begins all calls of a list at
  /// once. So sends and receives that would wait for each other are one list.
  /// Fails as join(), and with the error of stop(). A list that check() refuses fails without an
  /// effect. Memory of a call that was not completed is free when the communicator is destroyed.
  Result<> run(std::span<const NcclCall> calls, const NcclWait& wait);
  Result<> run(const NcclCall& call, const NcclWait& wait) { return run({&call, 1}, wait); }
  /// The same for communicators of this process, all of whose calls NCCL begins at once. A thread
  /// can so be several ranks. When one has failed, or was stopped, all have failed.
  static Result<> run_together(std::span<const NcclMemberCalls> members, const NcclWait& wait);

  /// Fails when the work that NCCL has enqueued has failed, as run() does.
  Result<> status(const NcclWait& wait);

  /// Ends a call that waits, and all later ones, with `why`. Called when a peer is dead: NCCL does
  /// not detect all deaths.
  void stop(Error why);

 private:
  NcclCommunicator(NcclLibrary nccl, const NcclMembership& membership)
      : nccl_(std::move(nccl)), rank_(membership.rank), size_(membership.size) {}
  void end(const char* verb, NcclStatus (*call)(NcclComm));
  Result<> check_usable(const char* call);
  NcclStatus start_join(const NcclUniqueId& id);
  NcclStatus start(const NcclCall& call);
  NcclStatus start_parts(const NcclCall& call);
  /// A call that returned `status`.
  struct Started {
    NcclCommunicator* communicator = nullptr;
    const char* call = nullptr;
    NcclStatus status = NcclStatus::success;
  };
  static bool has_started(NcclStatus status) {
    return status == NcclStatus::success || status == NcclStatus::in_progress;
  }
  static std::vector<Started> start_together(std::span<const NcclMemberCalls> members);
  /// Waits until all calls have been completed, or one has failed. Then all communicators have.
  static Result<> settle(std::span<Started> calls, const NcclWait& wait);
  static Result<> settled(std::span<Started> calls, const NcclWait& wait);
  Result<> settle(const char* call, NcclStatus status, const NcclWait& wait);
  /// Asks for the status of a call in progress. Fails when the call has failed, or was stopped.
  static Result<> poll(Started& started);
  /// Returns the error of stop() after at most `time`, earlier when it is called; none: not called.
  std::optional<Error> wait_for_stop(Duration time);

  NcclLibrary nccl_;
  int rank_;
  int size_;
  NcclComm comm_ = nullptr;
  bool failed_ = false;
  std::function<bool()> begun_ = {};  ///< empty: they have
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::optional<Error> stop_ = {};
};

/// Makes the id of a new communicator; one rank does, and sends it to the others.
Result<NcclUniqueId> make_nccl_id(const NcclLibrary& nccl);

}  // namespace dt
