#pragma once

#include "base/io/fd.h"
#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <poll.h>

namespace dt {

/// Connects to a listener, and waits until its queue has the connection: on a busy machine that is
/// later than the call. A connection that is closed before never comes. The test fails if it takes
/// 60 s.
inline Fd connected_to(const Address& listener) {
  Fd socket = start_connect(listener).value();
  pollfd fd = {.fd = socket.get(), .events = POLLOUT, .revents = 0};
  REQUIRE(poll(&fd, 1, 60'000) == 1);
  REQUIRE(connect_result(socket.get(), listener));
  return socket;
}

}  // namespace dt
