#pragma once

#include "base/clock.h"
#include "comm/engine/engine.h"

#include <cstdint>

namespace dt {

/// Owns an algorithm for collectives among a fixed group of ranks: the seam behind which schedules
/// over links, shared memory or a GPU library do the same work. One operation at a time; the ranks
/// have agreed on it, and its request was checked.
///
///   idle ─ start ▶ running ─ step … ▶ done ─ start ▶ …
///                     └── cancel ▶ idle
class Communicator {
 public:
  virtual ~Communicator() = default;
  /// `request` and its buffers live until done() or cancel().
  virtual void start(const OperationRequest& request, uint64_t sequence) = 0;
  /// Moves what can move without waiting; true if anything did.
  virtual bool step(Time now) = 0;
  virtual bool done() const = 0;
  /// The rank without which nothing goes on, or -1.
  virtual int waits_for() const = 0;
  /// Gives up: the buffers are the caller's again at once.
  virtual void cancel() = 0;
};

}  // namespace dt
