#pragma once

#include "base/result.h"

#include <cstdint>
#include <vector>

namespace dt {

/// A TCP socket of this network namespace that listens.
struct TcpListener {
  uint16_t port = 0;
  uint32_t uid = 0;  ///< its user, as this process's user namespace numbers users
  uint32_t inode = 0;
  bool operator==(const TcpListener&) const = default;
};

/// Returns the listening sockets of all users, from the kernel (NETLINK_SOCK_DIAG). Never blocks.
Result<std::vector<TcpListener>> tcp_listeners();

}  // namespace dt
