#pragma once

#include "base/clock.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// What the command line says of logging in; it wins over the user's ssh configuration.
struct LoginOptions {
  std::optional<uint16_t> port;            ///< -p
  std::optional<std::string> identity;     ///< -i
  std::optional<std::string> config;       ///< ssh -F
  Duration connect_timeout = seconds(10);  ///< for all tries of one host together
  bool operator==(const LoginOptions&) const = default;
};

}  // namespace dt
