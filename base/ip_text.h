#pragma once

#include <sys/socket.h>

#include <string>

namespace dt {

/// The numeric form of an IPv4 or IPv6 address, without brackets and port.
std::string ip_text(const sockaddr* address);

}  // namespace dt
