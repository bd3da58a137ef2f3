#pragma once

#include "base/format.h"
#include "rendezvous/cluster/task.h"

#include <string>
#include <string_view>

namespace dt {

/// A parameter server with checkpoints has this key from its start until its last one is written.
/// The launcher reads it at the job's end.
inline std::string last_checkpoint_key(const TaskId& server) {
  return format("ps/{}/{}/last_checkpoint", server.role, server.index);
}
/// The values of the key.
inline constexpr std::string_view checkpoint_awaited = "awaited";
inline constexpr std::string_view checkpoint_being_written = "writing";

}  // namespace dt
