#pragma once

#include "base/crypto.h"
#include "base/io/socket.h"
#include "comm/transport/peer_handshake.h"

#include <doctest/doctest.h>

#include <poll.h>

#include <memory>
#include <utility>

namespace dt {

/// Two ends of a TCP connection that have proved the token to each other.
struct ConnectedTasks {
  AuthenticatedConnection worker;
  AuthenticatedConnection server;
};

inline ConnectedTasks connect_tasks(bool encrypt = false) {
  const Token token = Token::random().value();
  const Time deadline = Clock::now() + seconds(30);
  const TaskId worker = {"worker", 0};
  const TaskId ps = {"ps", 0};
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  Fd dialed = start_connect(local_address(listener.get()).value()).value();
  pollfd waiting = {.fd = listener.get(), .events = POLLIN, .revents = 0};
  REQUIRE(poll(&waiting, 1, 60'000) == 1);
  const auto dialer =
      PeerHandshake::dial(std::move(dialed), ps,
                          {.claim = {token, "job", 1, worker, encrypt}, .deadline = deadline})
          .value();
  const auto acceptor =
      PeerHandshake::accept(accept_one(listener.get()).value(),
                            {.claim = {token, "job", 1, ps, encrypt}, .deadline = deadline})
          .value();
  while (!dialer->done() && Clock::now() < deadline) {
    pollfd fds[] = {{.fd = dialer->fd(), .events = POLLIN, .revents = 0},
                    {.fd = acceptor->fd(), .events = POLLIN, .revents = 0}};
    poll(fds, 2, 10);
    REQUIRE(dialer->advance());
    if (!acceptor->proved() && !acceptor->done()) REQUIRE(acceptor->advance());
    if (acceptor->proved()) REQUIRE(acceptor->accept_peer({}, 0));
  }
  REQUIRE(acceptor->done());
  return {dialer->take(), acceptor->take()};
}

}  // namespace dt
