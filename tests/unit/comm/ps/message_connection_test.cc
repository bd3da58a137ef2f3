#include "comm/ps/message_connection.h"

#include "tests/unit/comm/ps/connected.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

namespace dt {
namespace {

Bytes pattern(size_t size, unsigned first) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(first + i * 7);
  return bytes;
}

MessageConnection connection_of(AuthenticatedConnection& end, MessageConnection::Options options) {
  return {std::move(end.socket), end.handshake.session(), options};
}

/// Moves bytes between both ends until the receiver has a message.
std::optional<MessageConnection::Received> move_until_received(MessageConnection& from,
                                                               MessageConnection& to) {
  const Time deadline = Clock::now() + seconds(30);
  while (Clock::now() < deadline) {
    if (!from.advance() || !to.advance()) return std::nullopt;
    if (auto received = to.take()) return received;
  }
  return std::nullopt;
}

TEST_CASE("messages of any length arrive whole, both ways, also encrypted") {
  for (const bool encrypt : {false, true}) {
    ConnectedTasks tasks = connect_tasks(encrypt);
    const MessageConnection::Options options{.generation = 1, .message_bytes_max = 8 << 20};
    MessageConnection worker = connection_of(tasks.worker, options);
    MessageConnection server = connection_of(tasks.server, options);
    uint32_t id = 7;
    for (const size_t size : {size_t{1}, size_t{300'000}, size_t{5'000'000}}) {
      ++id;
      REQUIRE(worker.send(id, pattern(size, id)));
      const auto request = move_until_received(worker, server);
      REQUIRE(request);
      CHECK(request->id == id);
      CHECK(*request->body == pattern(size, id));
      REQUIRE(server.send(id, pattern(size, 1)));
      const auto reply = move_until_received(server, worker);
      REQUIRE(reply);
      CHECK(*reply->body == pattern(size, 1));
    }
    CHECK_FALSE(worker.unsent());
    CHECK(worker.outgoing() == 0);
  }
}

TEST_CASE("a message that is too long loses its body, and the connection stays up") {
  ConnectedTasks tasks = connect_tasks();
  MessageConnection worker =
      connection_of(tasks.worker, {.generation = 1, .message_bytes_max = 1000});
  MessageConnection server =
      connection_of(tasks.server, {.generation = 1, .message_bytes_max = 1000});
  REQUIRE(worker.send(1, pattern(1'000'000, 1)));
  REQUIRE(worker.send(2, pattern(1000, 2)));
  // The short one may arrive first, since two messages take turns.
  for (int i = 0; i < 2; ++i) {
    const auto received = move_until_received(worker, server);
    REQUIRE(received);
    CHECK(received->too_long == (received->id == 1));
    CHECK(*received->body == (received->id == 1 ? Bytes() : pattern(1000, 2)));
  }
}

TEST_CASE("a task of another generation breaks the protocol") {
  ConnectedTasks tasks = connect_tasks();
  MessageConnection worker =
      connection_of(tasks.worker, {.generation = 1, .message_bytes_max = 1000});
  MessageConnection server =
      connection_of(tasks.server, {.generation = 2, .message_bytes_max = 1000});
  REQUIRE(worker.send(1, pattern(10, 1)));
  REQUIRE(worker.advance());
  Result<> advanced;
  for (const Time end = Clock::now() + seconds(30); advanced && Clock::now() < end;)
    advanced = server.advance();
  REQUIRE_FALSE(advanced);
  CHECK(advanced.error().code == Errc::protocol);
}

TEST_CASE("a connection whose other end is gone is closed") {
  ConnectedTasks tasks = connect_tasks();
  MessageConnection worker =
      connection_of(tasks.worker, {.generation = 1, .message_bytes_max = 1000});
  tasks.server.socket.reset();
  Result<> advanced;
  for (const Time end = Clock::now() + seconds(30); advanced && Clock::now() < end;)
    advanced = worker.advance();
  REQUIRE_FALSE(advanced);
  CHECK(advanced.error().code == Errc::closed);
}

TEST_CASE("parts of a message arrive in order, and where the receiver wants them") {
  for (const bool encrypt : {false, true}) {
    ConnectedTasks tasks = connect_tasks(encrypt);
    const MessageConnection::Options options{.generation = 1, .message_bytes_max = 8 << 20};
    MessageConnection worker = connection_of(tasks.worker, options);
    MessageConnection server = connection_of(tasks.server, options);
    const Bytes values = pattern(1'000'000, 3);
    PartsWriter writer;
    writer.number(uint64_t{77});
    writer.borrow_aligned(values);
    writer.number(uint64_t{88});
    const auto message = std::make_shared<const MessageParts>(writer.take_parts());
    constexpr size_t head_bytes = 16;
    Bytes placed(values.size());
    worker.place_by(
        [&](const MessageConnection::Arriving& arriving) -> std::optional<std::span<std::byte>> {
          CHECK(arriving.id == 5);
          const size_t at = arriving.before.size();
          if (at < head_bytes || at + arriving.length > head_bytes + placed.size())
            return std::nullopt;
          return std::span(placed).subspan(at - head_bytes, arriving.length);
        });
    REQUIRE(server.send(5, message));
    const auto received = move_until_received(server, worker);
    REQUIRE(received);
    CHECK(placed == values);
    CHECK(server.outgoing() == 0);
    const Bytes whole = message->joined();
    REQUIRE(received->body->size() == whole.size());
    CHECK(std::ranges::equal(ByteSpan(*received->body).first(head_bytes),
                             ByteSpan(whole).first(head_bytes)));
    CHECK(std::ranges::equal(ByteSpan(*received->body).last(8), ByteSpan(whole).last(8)));
  }
}

TEST_CASE("a message has no other place while one of its id waits to be taken") {
  ConnectedTasks tasks = connect_tasks();
  const MessageConnection::Options options{.generation = 1, .message_bytes_max = 1000};
  MessageConnection worker = connection_of(tasks.worker, options);
  MessageConnection server = connection_of(tasks.server, options);
  Bytes elsewhere(1000);
  int asked = 0;
  worker.place_by([&](const MessageConnection::Arriving& arriving) {
    ++asked;
    return std::span(elsewhere).first(arriving.length);
  });
  for (const unsigned first : {1U, 2U}) {
    REQUIRE(server.send(5, pattern(1000, first)));
    while (server.outgoing() > 0)
      REQUIRE(server.advance());
  }
  const auto first = move_until_received(server, worker);
  REQUIRE(first);
  const auto second = move_until_received(server, worker);
  REQUIRE(second);
  CHECK(asked == 1);
  CHECK(elsewhere == pattern(1000, 1));
  CHECK(*second->body == pattern(1000, 2));
}

}  // namespace
}  // namespace dt
