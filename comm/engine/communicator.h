#pragma once

#include "base/clock.h"
#include "comm/engine/engine.h"

#include <cstdint>

namespace dt {

/// Interface of an algorithm for collectives among a fixed group of ranks. Schedules over links,
/// shared memory or a GPU library can implement it. One operation at a time. The ranks have agreed
/// on it, and its request was checked.
///
///   idle ─ start ▶ running ─ step … ▶ done ─ start ▶ …
///                     └── cancel ▶ idle
class Communicator {
 public:
  virtual ~Communicator() = default;
  /// Requires that `request` and its buffers live until done() or cancel().
  virtual void start(const OperationRequest& request, uint64_t sequence) = 0;
  /// Moves all data that can move without waiting; true if anything moved.
  virtual bool step(Time now) = 0;
  virtual bool done() const = 0;
  /// Returns the rank that the operation waits for, or -1.
  virtual int waits_for() const = 0;
  /// Aborts the operation. Its buffers are not used any more when this returns.
  virtual void cancel() = 0;
};

}  // namespace dt
