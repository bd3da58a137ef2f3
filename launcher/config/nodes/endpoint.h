#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace dt {

/// Where node 0 awaits the other nodes, as the user wrote it.
struct Endpoint {
  std::string host;   ///< name or address, without brackets
  uint16_t port = 0;  ///< 0: not given
  /// Returns "n1:29500", "[fd00::1]:29500", or the host alone.
  std::string text() const;
  bool operator==(const Endpoint&) const = default;
};

/// Parses HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT. Fails with Errc::input and what is wrong.
Result<Endpoint> parse_endpoint(std::string_view text);
/// Parses a host name or an address, with or without brackets. Fails as above.
Result<std::string> parse_master_host(std::string_view text);

}  // namespace dt
