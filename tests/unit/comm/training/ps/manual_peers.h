#pragma once

#include "comm/peer/server_dial.h"
#include "comm/peer/task_dial.h"
#include "comm/transport/peer_listener.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <poll.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dt {

/// A connection of which the test sends and receives each message. Without its calls nothing moves.
class ManualConnection {
 public:
  explicit ManualConnection(std::unique_ptr<MessageConnection> connection)
      : connection_(std::move(connection)) {}

  /// Sends a short message, and receives nothing behind it.
  template <class Message>
  void send(uint32_t id, const Message& message) {
    queue(id, message);
    flush();
  }
  /// The next flush() sends it.
  template <class Message>
  void queue(uint32_t id, const Message& message) {
    must(connection_->send(id, encode(message)));
  }
  void flush() {
    must(connection_->advance());
    REQUIRE_FALSE(connection_->unsent());
  }
  /// Waits until a message has begun to arrive, and reads nothing of it.
  void await_readable() const {
    pollfd readable = {.fd = connection_->fd(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&readable, 1, 30'000) == 1);
  }
  MessageConnection::Received receive() {
    for (const Time end = soon(); Clock::now() < end;) {
      must(connection_->advance());
      if (auto received = connection_->take()) return *std::move(received);
      await_readable();
    }
    throw std::runtime_error("no message arrives");
  }
  /// Receives a request, and sends a reply to it. Returns the request's number.
  uint32_t answer(const PsReply& reply = {}) {
    const uint32_t id = receive().id;
    send(id, reply);
    return id;
  }

 private:
  std::unique_ptr<MessageConnection> connection_;
};

/// Connects to a server as a worker.
inline ManualConnection dial_by_hand(PsJob& job, int worker, int server) {
  const auto view = job.view(worker);
  const TaskId to = {"ps", server};
  const TaskDial dial{.claim = job.claim({"worker", worker}),
                      .peer = *view->table().find(to),
                      .key = ps_endpoint_key(to),
                      .absent = "the server is absent",
                      .message_bytes_max = ps_message_bytes_max,
                      .check = [] { return Result<>(); }};
  return ManualConnection(must(dial_task(*view, dial, soon())));
}

/// A task that publishes an endpoint as parameter servers do.
class ManualServer {
 public:
  ManualServer(RendezvousFixture& rendezvous, int index)
      : self_({"ps", index}),
        generation_(rendezvous.table().generation),
        client_(rendezvous.join(self_)),
        listener_(must(PeerListener::open(
            {.claim = rendezvous.claim(self_), .tcp_ips = {"127.0.0.1"}, .unaccepted_max = 4}))) {
    must(client_->set(ps_endpoint_key(self_), listener_.endpoint().encode(), soon(),
                      Lifetime::connection));
  }
  /// Waits for the next connection.
  ManualConnection accept() {
    for (const Time end = soon(); Clock::now() < end;) {
      auto connected = must(listener_.advance(
          Clock::now(), [](PeerHandshake& handshake) { return handshake.accept_peer({}, 0); }));
      if (!connected.empty()) return made_of(connected.front()->take());
      std::vector<pollfd> fds;
      listener_.collect_fds(fds);
      ::poll(fds.data(), fds.size(), 30'000);
    }
    throw std::runtime_error("nobody connects");
  }

 private:
  ManualConnection made_of(AuthenticatedConnection connection) const {
    const MessageConnection::Options options{.generation = generation_,
                                             .message_bytes_max = ps_message_bytes_max};
    return ManualConnection(std::make_unique<MessageConnection>(
        std::move(connection.socket), connection.handshake.session(), options));
  }

  TaskId self_;
  uint32_t generation_;
  std::unique_ptr<RendezvousClient> client_;
  PeerListener listener_;
};

}  // namespace dt
