#include "comm/training/ps/replica_connection.h"

#include "tests/unit/comm/peer/connected.h"
#include "tests/unit/comm/training/ps/state/tensors.h"

#include <memory>

namespace dt {
namespace {

PsServerState::Options of_one_worker() {
  return {.workers = {{.id = {"worker", 0}, .host = "a", .takes_part = true}}};
}

std::unique_ptr<MessageConnection> connection_of(AuthenticatedConnection& end) {
  return std::make_unique<MessageConnection>(
      std::move(end.socket), end.handshake.session(),
      MessageConnection::Options{.generation = 1, .message_bytes_max = 8 << 20});
}

TEST_CASE(
    "inputs of any length reach the replica in their order, and its acknowledgements return") {
  ConnectedTasks tasks = connect_tasks();
  PartCopy head(of_one_worker(), PartCopy::Role::head);
  PartCopy replica(of_one_worker(), PartCopy::Role::replica);
  head.start_replica(1 << 30);
  const DeclaredWhole large(0, plain_variable("w", {500'000}), std::vector<float>(500'000));
  const auto declared = std::make_shared<const Bytes>(encode(PsRequest(large.request)));
  head.take(PsIncoming{0, 1, declared, *declared});
  const auto mode = std::make_shared<const Bytes>(encode(PsRequest(ModeRequest{})));
  for (uint32_t number = 2; number < 20; ++number)
    head.take(PsIncoming{0, number, mode, *mode});
  ReplicaConnection connection(connection_of(tasks.worker), head, Duration::zero());
  const auto other = connection_of(tasks.server);
  uint32_t replies = 0;
  const Time deadline = Clock::now() + seconds(30);
  while (head.awaits_replica() && Clock::now() < deadline) {
    const Result<> advanced = connection.advance(Clock::now());
    if (!advanced) FAIL(advanced.error().message);
    REQUIRE(other->advance());
    while (const auto message = other->take())
      REQUIRE(replica.follow(message->body));
    if (replica.number() > 0 && other->outgoing() == 0)
      REQUIRE(other->send(++replies, encode_acknowledgement(replica.number())));
  }
  CHECK(head.take_deliveries().size() == 19);
  CHECK(replica.state().save().joined() == head.state().save().joined());
}

TEST_CASE("an acknowledgement of what was not sent breaks the connection") {
  ConnectedTasks tasks = connect_tasks();
  PartCopy head(of_one_worker(), PartCopy::Role::head);
  head.start_replica(1 << 30);
  ReplicaConnection connection(connection_of(tasks.worker), head, Duration::zero());
  const auto other = connection_of(tasks.server);
  REQUIRE(other->send(1, encode_acknowledgement(9)));
  Result<> advanced;
  const Time deadline = Clock::now() + seconds(30);
  while (advanced && Clock::now() < deadline) {
    static_cast<void>(other->advance());
    advanced = connection.advance(Clock::now());
  }
  REQUIRE_FALSE(advanced);
  CHECK(advanced.error().code == Errc::protocol);
}

}  // namespace
}  // namespace dt
