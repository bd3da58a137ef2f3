#pragma once

#include "base/clock.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "comm/transport/mesh_builder.h"
#include "rendezvous/secure/handshake.h"

#include <functional>
#include <optional>
#include <string>

namespace dt {

inline constexpr Duration join_timeout_default = seconds(300);

/// Who we are, whom to ask, and how long.
struct JoinRequest {
  Claim claim;
  Address rendezvous;
  uint16_t port = 0;             ///< to listen at for other tasks, held for us; 0: any
  std::optional<int> rank = {};  ///< what the environment says; must agree with the job
  std::optional<int> size = {};
  Transport transport = Transport::automatic;
  Duration timeout = join_timeout_default;
  std::optional<Duration> dead_after = {};  ///< none: what the job says
};

/// A variable's value; null when it is not set.
using Environment = std::function<const char*(const char* name)>;

/// From the variables that `dtrain run` sets: none if there is none of them, an error that names
/// what is missing or wrong if there are some. Never shows the token.
Result<std::optional<JoinRequest>> request_from(const Environment& environment);

/// The same as texts, from a caller that knows.
struct Identity {
  std::string role;
  int task_index = 0;
  std::string rendezvous;
  std::string token;
  std::string job;
  uint32_t generation = 0;
};
Result<JoinRequest> request_from(const Identity& identity);

}  // namespace dt
