#pragma once

#include "base/io/socket.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// Number of the launcher where a probe's target has an agent's number.
inline constexpr uint32_t launcher_number = UINT32_MAX;

/// An address at which a machine listens for probes, and the network interface that has it.
struct ProbeEndpoint {
  Address address;
  std::string interface;
  bool operator==(const ProbeEndpoint&) const = default;
};

/// A machine and some of its addresses: those to dial, or those that reached it.
struct ProbeTarget {
  uint32_t number = 0;
  std::vector<Address> addresses;
  bool operator==(const ProbeTarget&) const = default;
};

}  // namespace dt
