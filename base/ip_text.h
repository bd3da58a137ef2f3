#pragma once

#include <sys/socket.h>

#include <string>

namespace dt {

/// Returns the numeric form of an IPv4 or IPv6 address, without brackets and port. An IPv4 peer of
/// a listener on [::] has the form 10.0.0.1, not ::ffff:10.0.0.1.
std::string ip_text(const sockaddr* address);

}  // namespace dt
