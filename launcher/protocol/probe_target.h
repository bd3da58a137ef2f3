#pragma once

#include "base/io/socket.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// Who answers a probe: an agent's number, or the launcher.
inline constexpr uint32_t launcher_number = UINT32_MAX;

/// Where a machine listens for probes, and its interface there.
struct ProbeEndpoint {
  Address address;
  std::string interface;
  bool operator==(const ProbeEndpoint&) const = default;
};

/// One machine and addresses of it: to be dialled, or those that led there.
struct ProbeTarget {
  uint32_t number = 0;
  std::vector<Address> addresses;
  bool operator==(const ProbeTarget&) const = default;
};

}  // namespace dt
