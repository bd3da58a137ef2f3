#pragma once

#include "base/io/fd.h"
#include "comm/peer/pair_connection.h"
#include "comm/transport/doorbell.h"
#include "comm/transport/pair_memory.h"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace dt {

/// Two ends of a connection through shared memory, in one process. Each has mapped it.
struct ConnectedPair {
  ConnectedPair() {
    int sockets[2] = {-1, -1};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets) == 0);
    auto made = PairMemory::create().value();
    auto opened = PairMemory::open(duplicate(made->fd()).value()).value();
    acceptor_asleep = &opened->asleep(PairMemory::Side::acceptor);
    dialer = std::make_unique<PairConnection>(
        PairConnection::Ends{.socket = Fd(sockets[0]),
                             .doorbell = duplicate(acceptor_doorbell.get()).value(),
                             .memory = std::move(made)});
    acceptor = std::make_unique<PairConnection>(
        PairConnection::Ends{.socket = Fd(sockets[1]),
                             .doorbell = duplicate(dialer_doorbell.get()).value(),
                             .memory = std::move(opened),
                             .side = PairMemory::Side::acceptor});
  }
  Fd dialer_doorbell = make_doorbell().value();
  Fd acceptor_doorbell = make_doorbell().value();
  std::atomic<uint32_t>* acceptor_asleep = nullptr;  ///< while the acceptor lives
  std::unique_ptr<PairConnection> dialer;
  std::unique_ptr<PairConnection> acceptor;
};

}  // namespace dt
