#pragma once

#include "base/clock.h"
#include "comm/schedule/operation_request.h"

#include <cstdint>
#include <vector>

namespace dt {

/// The time limit of one rank's call.
struct CallLimit {
  Duration timeout = Duration::zero();  ///< as the caller gave it; zero: none
  Time end = Time::max();
};

/// Interface of an algorithm for collectives among a fixed group of ranks. Schedules over links,
/// shared memory or a GPU library can implement it. One operation at a time, whose request was
/// checked.
///
///   idle ─ start ▶ running ─ step … ▶ done ─ start ▶ …
///                     ├── the ranks' calls differ ▶ mismatch
///                     ├── they are equal, but of a kind that it does not run ▶ agreed
///                     └── cancel ▶ idle
class Communicator {
 public:
  enum class State : uint8_t { idle, running, done, agreed, mismatch };

  virtual ~Communicator() = default;
  /// Requires that the ranks have agreed on the operation, unless the algorithm itself compares the
  /// calls of all ranks. `request` and its buffers live until the operation is done or cancelled.
  virtual void start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
                     Time now) = 0;
  /// Moves all data that can move without waiting; true if anything moved.
  virtual bool step(Time now) = 0;
  virtual State state() const = 0;
  /// Returns the rank that the operation waits for, or -1.
  virtual int waits_for() const = 0;
  /// True when the operation cannot end without another step of that rank.
  virtual bool needs(int rank) const { return waits_for() == rank; }
  /// Returns the ranks that have not made the call yet, as far as this rank knows. Empty when the
  /// ranks agreed before the start.
  virtual std::vector<int> missing() const { return {}; }
  virtual bool any_missing() const { return false; }
  /// Returns a number that changes when data of the running operation moves.
  virtual uint64_t progress() const { return 0; }
  /// Returns the first time limit to end among the calls that were made so far. Only for an
  /// operation with missing ranks.
  virtual CallLimit first_limit() const { return {}; }
  /// Aborts the operation. Its buffers are not used any more when this returns.
  virtual void cancel() = 0;
};

}  // namespace dt
