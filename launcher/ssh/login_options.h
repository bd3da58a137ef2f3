#pragma once

#include "base/clock.h"
#include "launcher/ssh/config/route.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The command line's options for reaching hosts; they win over the user's ssh configuration.
struct LoginOptions {
  SshImplementation implementation = SshImplementation::automatic;  ///< --ssh
  std::optional<uint16_t> port;                                     ///< -p
  std::optional<std::string> identity;                              ///< -i
  std::optional<std::string> config;                                ///< ssh -F
  /// --rsh-agent: a program with its first arguments, used instead of ssh; empty: none.
  std::vector<std::string> program;
  /// A program that takes its place in a scheduler's job, where PATH has it; empty: none.
  std::string scheduler_program;
  bool keeps_agent = true;  ///< false: hosts keep no copy of dtrain
  size_t parallel = 64;     ///< number of hosts that it logs in to at once
  /// For all tries of one host together; none: ssh's ConnectTimeout, else 10 s.
  std::optional<Duration> connect_timeout;
  bool operator==(const LoginOptions&) const = default;
};

inline constexpr Duration connect_timeout_default = seconds(10);

}  // namespace dt
