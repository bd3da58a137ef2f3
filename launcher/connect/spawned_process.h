#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/process/child.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What carries the bytes between the launcher and one agent.
struct SpawnedProcess {
  Fd from_agent;
  Fd to_agent;  ///< empty: from_agent serves both ways
  /// Ours, on this machine: the agent itself, or the ssh client before it.
  std::optional<Child> process;
  Fd messages;  ///< what that client says on its stderr; empty for an agent of this machine
};

/// Descriptors that a carrier has open, and those that are open only while one starts.
inline constexpr uint64_t open_files_a_carrier = 3;
inline constexpr uint64_t open_files_of_a_start = 4;

/// Starts an agent on this machine: a copy of this process, which knows what `dtrain agent` would
/// first have to load, in a session of its own, so that a terminal's signals reach only the
/// launcher. `open_files_max` is the soft limit that its tasks shall have.
Result<SpawnedProcess> start_local_agent(uint64_t open_files_max);
/// Starts a client that reaches a host, found in our PATH, in a session of its own: it gets no
/// signals of a terminal and cannot ask anything there.
Result<SpawnedProcess> start_client(const std::vector<std::string>& words);

}  // namespace dt
