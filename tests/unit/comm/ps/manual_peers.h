#pragma once

#include "comm/ps/server_dial.h"
#include "comm/ps/task_dial.h"
#include "tests/unit/comm/ps/ps_job.h"

#include <poll.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

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
  const auto directory = job.directory(worker);
  const TaskId to = {"ps", server};
  const TaskDial dial{.claim = job.claim({"worker", worker}),
                      .peer = *directory->table().find(to),
                      .key = ps_endpoint_key(to),
                      .absent = "the server is absent",
                      .message_bytes_max = ps_message_bytes_max,
                      .check = [] { return Result<>(); }};
  return ManualConnection(must(dial_task(*directory, dial, soon())));
}

}  // namespace dt
