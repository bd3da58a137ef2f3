#pragma once

#include "base/format.h"
#include "comm/engine/engine.h"
#include "comm/engine/groups.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

/// Steps engines that have nothing to do, for a while. None may send, move anything, wake up, or
/// keep entries about named calls. Returns the first broken promise; empty for none. An engine that
/// has ended is null.
inline std::string judge_idle(const std::vector<Engine*>& engines, Time& now,
                              const std::function<size_t()>& bytes_sent) {
  const size_t sent = bytes_sent();
  for (int round = 0; round < 3; ++round) {
    for (size_t rank = 0; rank < engines.size(); ++rank) {
      if (engines[rank] == nullptr) continue;
      Engine& engine = *engines[rank];
      const bool moved = engine.step(now);
      if (bytes_sent() != sent) return format("rank {} is idle, and sends", rank);
      if (moved) return format("rank {} is idle, and moves something", rank);
      if (engine.next_deadline() != Time::max()) return format("rank {} is idle, and wakes", rank);
      if (const size_t entries = engine.groups().named_entries(); entries != 0)
        return format("rank {} is idle, and keeps {} entries about named calls", rank, entries);
    }
    now += seconds(1);
  }
  return "";
}

}  // namespace dt
