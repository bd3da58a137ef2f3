#pragma once

#include "base/result.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The first failure of a step.
struct ReplicaFailure {
  std::optional<size_t> replica = {};  ///< whose step failed; none: an operation of all
  Error error;
};

/// Joins the threads of one process's replicas: an operation of a step begins when all have called
/// it. Any thread may call it.
///
///   meet() ─ not the last ─▶ wait ─────────────────────────────┐
///   meet() ─ the last ─────▶ `together` of all, on this thread ─┴▶ all return its result
///   leave() with a failure, or while others wait: these fail at once
class ReplicaMeeting {
 public:
  struct Numbers {
    size_t count = 1;  ///< of the replicas of this process
    size_t first = 0;  ///< the number of the first one, for errors
  };
  explicit ReplicaMeeting(Numbers numbers) : first_(numbers.first), calls_(numbers.count) {}
  ReplicaMeeting(const ReplicaMeeting&) = delete;
  ReplicaMeeting& operator=(const ReplicaMeeting&) = delete;

  /// A replica's call of an operation.
  struct Call {
    std::string text = {};  ///< operation and terms, for errors; must be equal on all replicas
    void* arguments = nullptr;
  };
  /// Receives the arguments of all replicas.
  using Together = std::function<Result<>(const std::vector<void*>&)>;

  /// Called before each step.
  void begin();
  /// Fails with Errc::mismatch when replicas call different operations or one has ended its step.
  /// Fails with the first failure of the step, too.
  Result<> meet(size_t replica, Call call, const Together& together);
  /// Called once by each replica when its step has ended.
  void leave(size_t replica, const Result<>& outcome);
  /// Returns the first failure of the step; none: it has succeeded.
  std::optional<ReplicaFailure> failure() const;

 private:
  Result<> compare() const;
  void fail_step(ReplicaFailure failure);
  tl::unexpected<Error> failed() const;

  const size_t first_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Call>> calls_;  ///< by replica
  size_t arrived_ = 0;
  size_t left_ = 0;
  size_t first_left_ = 0;  ///< a replica that has left
  uint64_t meetings_ = 0;  ///< that have ended
  std::optional<ReplicaFailure> failure_ = {};
};

}  // namespace dt
