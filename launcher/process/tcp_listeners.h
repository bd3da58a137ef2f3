#pragma once

#include "base/result.h"

#include <cstdint>
#include <vector>

namespace dt {

/// A TCP socket of this network namespace that listens.
struct TcpListener {
  uint16_t port = 0;
  uint32_t uid = 0;  ///< its user, as our user namespace numbers them
  uint32_t inode = 0;
  bool operator==(const TcpListener&) const = default;
};

/// All of them, of all users, from the kernel (NETLINK_SOCK_DIAG). Never blocks.
Result<std::vector<TcpListener>> tcp_listeners();

}  // namespace dt
