#include "comm/training/ps/task_connections.h"

#include "tests/unit/comm/peer/connected.h"

#include <memory>
#include <vector>

namespace dt {
namespace {

/// The server's end of a new connection. The other end closes.
TaskConnection connection_of(uint32_t task, uint32_t attempt = first_attempt) {
  ConnectedTasks tasks = connect_tasks();
  return {.task = task,
          .connection = std::make_unique<MessageConnection>(
              std::move(tasks.server.socket), tasks.server.handshake.session(),
              MessageConnection::Options{.generation = 1, .message_bytes_max = 1 << 20}),
          .attempt = attempt};
}

size_t open_in(TaskConnections& connections) {
  size_t open = 0;
  for (const TaskConnection& known : connections)
    open += known.connection != nullptr ? 1 : 0;
  return open;
}

TEST_CASE("the newest connection of a task counts, one for each part") {
  TaskConnections connections(2);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(connections.make_room(7, 1));
    connections.add(connection_of(7));
  }
  CHECK(open_in(connections) == 2);
  auto at = connections.begin();
  TaskConnection& first = *at++;
  TaskConnection& second = *at;
  connections.attach(first, 0);
  CHECK(connections.find(0, 7) == &first);
  CHECK(connections.find(1, 7) == nullptr);
  connections.attach(second, 0);
  CHECK(first.connection == nullptr);
  CHECK(connections.find(0, 7) == &second);
  connections.close(first);
  connections.remove_closed();
  CHECK(connections.find(0, 7) == &second);
  connections.close(second);
  CHECK(connections.find(0, 7) == nullptr);
}

TEST_CASE("a connection of an attempt that has ended is not wanted") {
  TaskConnections connections(1);
  REQUIRE(connections.make_room(7, 2));
  connections.add(connection_of(7, 2));
  CHECK_FALSE(connections.make_room(7, 1));
  CHECK(connections.make_room(8, 1));
  CHECK(open_in(connections) == 1);
}

}  // namespace
}  // namespace dt
