#include "comm/peer/message_connection.h"

#include "comm/training/ps/state/messages.h"
#include "tests/unit/comm/peer/connected.h"
#include "tests/unit/comm/peer/connected_pair.h"
#include "tests/unit/comm/peer/ones.h"

#include <poll.h>
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

void exchange_messages(MessageConnection& worker, MessageConnection& server) {
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

constexpr MessageConnection::Options long_messages{.generation = 1, .message_bytes_max = 8 << 20};

TEST_CASE("messages of any length arrive whole, both ways, also encrypted") {
  for (const bool encrypt : {false, true}) {
    ConnectedTasks tasks = connect_tasks(encrypt);
    MessageConnection worker = connection_of(tasks.worker, long_messages);
    MessageConnection server = connection_of(tasks.server, long_messages);
    exchange_messages(worker, server);
  }
}

TEST_CASE("messages of any length arrive whole through shared memory, both ways") {
  ConnectedPair pair;
  MessageConnection worker(std::move(pair.dialer), long_messages);
  MessageConnection server(std::move(pair.acceptor), long_messages);
  exchange_messages(worker, server);
}

/// Sends an array that is computed later, and checks that an advance() begins few parts of it.
void send_later(MessageConnection& from, MessageConnection& to) {
  const auto ones = std::make_shared<Ones>(7'000'000);
  PartsWriter writer;
  writer.borrow_later(ones->bytes, ones);
  REQUIRE(from.send(1, writer.take_parts()));
  CHECK(ones->computed == 0);
  REQUIRE(from.advance());
  CHECK(ones->computed > 0);
  CHECK(ones->computed <= 20 * PartsWriter::later_part_bytes);
  const auto received = move_until_received(from, to);
  REQUIRE(received);
  Writer whole;
  encode_aligned(whole, Bytes(ones->bytes.size(), std::byte{1}));
  CHECK(*received->body == whole.take());
}

TEST_CASE("an array that is computed later is computed as it is sent") {
  SUBCASE("over TCP") {
    ConnectedTasks tasks = connect_tasks(false);
    MessageConnection worker = connection_of(tasks.worker, long_messages);
    MessageConnection server = connection_of(tasks.server, long_messages);
    send_later(server, worker);
  }
  SUBCASE("through shared memory") {
    ConnectedPair pair;
    MessageConnection worker(std::move(pair.dialer), long_messages);
    MessageConnection server(std::move(pair.acceptor), long_messages);
    send_later(server, worker);
  }
}

TEST_CASE("a connection through shared memory has changed when bytes or room have come") {
  ConnectedPair pair;
  constexpr uint32_t messages = 99;
  MessageConnection::Options options = long_messages;
  options.incoming_max = messages;
  MessageConnection worker(std::move(pair.dialer), options);
  MessageConnection server(std::move(pair.acceptor), options);
  CHECK_FALSE(worker.changed());
  CHECK_FALSE(server.changed());
  // The first message of several is longer than the ring.
  REQUIRE(worker.send(1, pattern(1'000'000, 1)));
  for (uint32_t id = 2; id <= messages; ++id)
    REQUIRE(worker.send(id, pattern(10, id)));
  uint32_t received = 0;
  while (worker.unsent() || server.changed()) {
    REQUIRE(worker.advance());
    REQUIRE(server.changed());
    CHECK_FALSE(server.fall_asleep());
    REQUIRE(server.advance());
    REQUIRE((!worker.unsent() || worker.changed()));
    while (server.take())
      ++received;
  }
  CHECK(received == messages);
  CHECK(server.fall_asleep());
  server.wake_up();
}

TEST_CASE("a task with unsent bytes sleeps while the ring is full, and not before it has tried") {
  ConnectedPair pair;
  MessageConnection worker(std::move(pair.dialer), long_messages);
  MessageConnection server(std::move(pair.acceptor), long_messages);
  REQUIRE(worker.send(1, pattern(1'000'000, 1)));
  CHECK(worker.changed());
  CHECK_FALSE(worker.fall_asleep());
  REQUIRE(worker.advance());
  CHECK(worker.unsent());
  CHECK(worker.events() == POLLIN);
  REQUIRE(worker.fall_asleep());
  CHECK_FALSE(worker.changed());
  REQUIRE(server.advance());
  CHECK(worker.changed());
  pollfd doorbell = {.fd = pair.dialer_doorbell.get(), .events = POLLIN, .revents = 0};
  CHECK(poll(&doorbell, 1, 0) == 1);
}

TEST_CASE("an advance ends although the peer keeps up, and knows that there is more") {
  ConnectedPair pair;
  MessageConnection::Options options = long_messages;
  options.incoming_max = 1000;
  MessageConnection worker(std::move(pair.dialer), options);
  MessageConnection server(std::move(pair.acceptor), options);
  uint32_t sent = 0;
  for (; sent < 900; ++sent)
    REQUIRE(worker.send(sent, pattern(10, sent)));
  REQUIRE(worker.advance());
  REQUIRE(server.advance());
  CHECK(server.changed());
  uint32_t received = 0;
  for (int i = 0; i < 100 && received < sent; ++i) {
    REQUIRE(worker.advance());
    REQUIRE(server.advance());
    while (server.take())
      ++received;
  }
  CHECK(received == sent);
}

TEST_CASE("a connection through shared memory whose other end is gone gives what had come") {
  ConnectedPair pair;
  MessageConnection server(std::move(pair.acceptor), long_messages);
  {
    MessageConnection worker(std::move(pair.dialer), long_messages);
    REQUIRE(worker.send(1, pattern(100, 1)));
    REQUIRE(worker.advance());
  }
  pollfd end = {.fd = server.fd(), .events = POLLIN, .revents = 0};
  CHECK(poll(&end, 1, 0) == 1);
  Result<> advanced = server.advance();
  if (advanced) advanced = server.advance();
  REQUIRE_FALSE(advanced);
  CHECK(advanced.error().code == Errc::closed);
  CHECK(*server.take().value().body == pattern(100, 1));
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
