#pragma once

#include "base/clock.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "comm/transport/peer_endpoint.h"
#include "rendezvous/secure/handshake.h"

#include <functional>
#include <optional>
#include <string>

namespace dt {

inline constexpr Duration join_timeout_default = seconds(300);

/// This task's identity, the rendezvous, and the time limits of a join.
struct InitOptions {
  Claim claim;
  Address rendezvous;
  uint16_t port = 0;             ///< to listen at for other tasks, held for this one; 0: any
  std::optional<int> rank = {};  ///< from the environment; must agree with the job
  std::optional<int> size = {};
  Transport transport = Transport::automatic;
  Duration timeout = join_timeout_default;
  std::optional<Duration> dead_after = {};  ///< none: the job's value
};

/// Returns a variable's value; null when it is not set.
using VariableReader = std::function<const char*(const char* name)>;

/// Reads the variables that `dtrain run` sets; none if no variable is set. Fails with Errc::input
/// when some are missing or wrong, and names them. Fails also when none is set, but another
/// launcher has started several processes, unless DTRAIN_ALONE is 1. No error contains the token.
Result<std::optional<InitOptions>> init_options_from(const VariableReader& environment);

/// The same values as texts, from a caller that does not read them from the environment.
struct Identity {
  std::string role;
  int task_index = 0;
  std::string rendezvous;
  std::string token;
  std::string job;
  uint32_t generation = 0;
};
/// Reads only the port and the attempt from the environment, unless that is of another task. Fails
/// with Errc::input.
Result<InitOptions> init_options_from(const Identity& identity, const VariableReader& environment);

}  // namespace dt
