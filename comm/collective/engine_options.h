#pragma once

#include "base/clock.h"
#include "choices/algorithm_text.h"
#include "comm/transport/link.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace dt {

class AreaPool;
class SharedArea;

/// A rank as the engine sees it.
struct EnginePeer {
  TaskEntry task;
  std::unique_ptr<Link> link;  ///< null for this rank itself
  /// Seals frames instead of the session that the link may have.
  std::unique_ptr<Session> session = nullptr;
};

struct EngineOptions {
  int rank = 0;
  Duration dead_after = seconds(5);  ///< how long a broken link waits for the launcher's notice
  uint32_t generation = 0;           ///< in every frame; both ends of a link must agree
  /// The memory of the ranks on this rank's host; null if there is no other.
  std::shared_ptr<SharedArea> shared = {};
  /// The same for collectives with a name; null exactly if `shared` is.
  std::shared_ptr<SharedArea> named_shared = {};
  /// The memory for groups of ranks on this rank's host; null if there is none.
  std::shared_ptr<AreaPool> pool = {};
  /// The ranks of each host share memory. Equal on all ranks.
  bool host_memory = false;
  /// A collective whose ranks receive no more than this sends its data at once. Ranks that have not
  /// made the call yet get it, too. Equal on all ranks, and no more than half of
  /// ScheduledCommunicator::next_bytes_max.
  size_t unasked_bytes_max = size_t{64} << 10;
  /// The user's choice for collectives over links; equal on all ranks.
  ChosenAlgorithms algorithms = {};
};

}  // namespace dt
