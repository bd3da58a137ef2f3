#pragma once

#include "base/environment.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/process/child.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A process of this machine that is an agent or connects to one, with the pipes to it.
struct SpawnedProcess {
  Fd from_agent;
  Fd to_agent;  ///< empty: from_agent serves both directions
  /// The child: the agent itself, or a client such as ssh.
  std::optional<Child> process;
  Fd messages;  ///< the client's stderr; empty for an agent of this machine
};

/// Descriptors of the launcher for each agent, and further ones while one agent starts.
inline constexpr uint64_t open_files_per_agent = 3;
inline constexpr uint64_t open_files_while_starting = 4;

struct LocalAgent {
  uint64_t open_files_max = 0;  ///< soft limit of its tasks
  bool scheduled = false;       ///< as in AgentPlace
  bool seen_from_afar = false;  ///< its launcher is on another host
};
/// Starts an agent on this machine. The agent is a fork of this process, since that need not load
/// `dtrain agent` first. It has a session of its own, so that a terminal's signals reach only the
/// launcher.
Result<SpawnedProcess> start_local_agent(const LocalAgent& options);
/// True where start_client() finds this program.
bool has_client(const std::string& program);
/// Starts a client that connects to a host; finds the program in this process's PATH. The client
/// has a session of its own. It gets no signals of a terminal and cannot ask for passwords there.
Result<SpawnedProcess> start_client(const std::vector<std::string>& command);
/// Starts a scheduler's program in the same way, with these variables. The program outlives this
/// process: a signal to it would kill the agents before they have ended their tasks.
Result<SpawnedProcess> start_scheduler_program(const std::vector<std::string>& command,
                                               const Environment& environment);

}  // namespace dt
