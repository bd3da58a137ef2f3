#include "comm/training/ps/state/part_copy.h"

#include "base/format.h"
#include "tests/unit/comm/training/ps/state/tensors.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

PsServerState::Options of_two_servers() {
  return {.workers = {{.id = {"worker", 0}, .host = "a", .takes_part = true}}, .servers = 2};
}

/// A head with its replica, and a worker that asks.
class Pair {
 public:
  Pair()
      : head(of_two_servers(), PartCopy::Role::head),
        replica(of_two_servers(), PartCopy::Role::replica) {
    head.start_replica(1 << 20);
    replicate();
    const DeclaredWhole pair(0, plain_variable("w", {2}), {10, 20});
    ask(pair.request);
    replicate();
    head.take_deliveries();
  }
  void ask(const PsRequest& request) {
    const auto body = std::make_shared<const Bytes>(encode(request));
    head.take(PsIncoming{0, ++last, body, *body, attempt});
  }
  void push() {
    gradient = bytes_of<float>({1, 1});
    ask(PushRequest{.gradients = {{.shard = 0, .values = gradient}}});
  }
  /// Moves all inputs to the replica.
  void replicate() {
    while (auto message = head.take_outgoing())
      REQUIRE(replica.follow(std::make_shared<const Bytes>(message->joined())));
    REQUIRE(head.acknowledged(replica.number()));
  }

  PartCopy head;
  PartCopy replica;
  uint32_t last = 0;
  uint32_t attempt = first_attempt;
  Bytes gradient;
};

TEST_CASE("a reply leaves when the replica has carried out its request") {
  Pair pair;
  pair.push();
  CHECK(pair.head.awaits_replica());
  CHECK(pair.head.take_deliveries().empty());
  CHECK(pair.replica.state().step() == 0);
  pair.replicate();
  CHECK(pair.head.take_deliveries().size() == 1);
  CHECK(pair.replica.state().save().joined() == pair.head.state().save().joined());
  CHECK(pair.replica.take_deliveries().empty());
}

TEST_CASE("a read is no input, and shows only what the replica has, too") {
  Pair pair;
  pair.push();
  const auto push = pair.head.take_outgoing();
  pair.ask(PullRequest{.pulls = {{.shard = 0}}});
  CHECK_FALSE(pair.head.take_outgoing());
  CHECK(pair.head.take_deliveries().empty());
  REQUIRE(pair.replica.follow(std::make_shared<const Bytes>(push->joined())));
  REQUIRE(pair.head.acknowledged(pair.replica.number()));
  CHECK(pair.head.take_deliveries().size() == 2);
}

TEST_CASE("both copies know the attempt of a worker, and refuse pushes of the one before") {
  Pair pair;
  pair.push();
  SUBCASE("by a notice") {
    pair.head.take(Notice{Notice::Kind::restarted, {"worker", 0}, "", 2});
  }
  SUBCASE("by its first request, although that only reads") {
    pair.attempt = 2;
    pair.ask(StatusRequest{});
  }
  pair.replicate();
  pair.attempt = 1;
  pair.push();
  CHECK_FALSE(pair.head.take_outgoing());
  for (const PartCopy* const copy : {&pair.head, &pair.replica}) {
    CHECK_FALSE(copy->state().sessions().check_attempt(0, 1));
    CHECK(copy->state().sessions().check_attempt(0, 2));
    CHECK(copy->state().step() == 1);
  }
  pair.replica.take_over();
  const PushRequest late{.gradients = {{.shard = 0, .values = pair.gradient}}};
  const auto body = std::make_shared<const Bytes>(encode(PsRequest(late)));
  pair.replica.take(PsIncoming{0, 90, body, *body, 1});
  CHECK(pair.replica.state().step() == 1);
  pair.replica.take(PsIncoming{0, 91, body, *body, 2});
  CHECK(pair.replica.state().step() == 2);
}

TEST_CASE("a head without its replica replies at once") {
  Pair pair;
  pair.push();
  pair.head.replica_lost();
  CHECK(pair.head.take_deliveries().size() == 1);
  CHECK_FALSE(pair.head.take_outgoing());
  pair.push();
  CHECK(pair.head.take_deliveries().size() == 1);
}

TEST_CASE("a replica takes over with the state of its head, and refuses late inputs") {
  Pair pair;
  pair.push();
  pair.replicate();
  pair.push();
  const auto late = std::make_shared<const Bytes>(pair.head.take_outgoing().value().joined());
  pair.replica.take_over();
  CHECK(pair.replica.role() == PartCopy::Role::head);
  const Result<> followed = pair.replica.follow(late);
  REQUIRE_FALSE(followed);
  CHECK(followed.error().message == "the server is dead, and its replica has taken over");
  CHECK(pair.replica.state().step() == 1);
  const auto body = std::make_shared<const Bytes>(encode(PsRequest(StatusRequest{})));
  pair.replica.take(PsIncoming{0, 9, body, *body});
  CHECK(pair.replica.take_deliveries().size() == 1);
}

TEST_CASE("a file request that the head has not answered is that of the replica after it") {
  Pair pair;
  pair.ask(SaveRequest{.path = "/a"});
  pair.replicate();
  REQUIRE(pair.head.take_file_requests().size() == 1);
  SUBCASE("when the head dies before") {
    pair.replica.take_over();
    CHECK(pair.replica.take_file_requests().size() == 1);
  }
  SUBCASE("and not when it has answered") {
    pair.head.take(PsFileAnswer{.worker = 0, .request = pair.last});
    pair.replicate();
    CHECK(pair.head.take_deliveries().size() == 1);
    pair.replica.take_over();
    CHECK(pair.replica.take_file_requests().empty());
  }
}

TEST_CASE("a checkpoint that the head loads is that of the replica, too") {
  Pair pair;
  const Bytes saved = pair.head.state().save().joined();
  pair.push();
  pair.ask(LoadRequest{.path = "/a"});
  REQUIRE(pair.head.take_file_requests().size() == 1);
  pair.head.take(PsFileAnswer{.worker = 0, .request = pair.last, .content = saved});
  pair.replicate();
  CHECK(pair.head.state().save().joined() == saved);
  CHECK(pair.replica.state().save().joined() == saved);
}

TEST_CASE("a replica refuses inputs that are not the next ones") {
  Pair pair;
  const auto follow = [&](uint64_t number, const PsInput& input) {
    const Result<> followed =
        pair.replica.follow(std::make_shared<const Bytes>(encode_parts(number, input).joined()));
    return followed ? "good" : followed.error().message;
  };
  const uint64_t next = pair.replica.number() + 1;
  const Notice notice{Notice::Kind::dead, {"worker", 0}, "killed"};
  CHECK(follow(next + 1, notice) == format("input {} comes after {}", next + 1, next - 1));
  CHECK(follow(next - 1, notice) == format("input {} comes after {}", next - 1, next - 1));
  CHECK(follow(next, PsStart{}) == "a replica starts once, by its first input");
  CHECK(follow(next, PsIncoming{.worker = 1}) == "a request is of worker 1");
  CHECK(follow(next, notice) == "good");
  CHECK_FALSE(pair.head.acknowledged(next + 5));
}

TEST_CASE("the next server in the ring has a part when its own one is dead") {
  PsServers servers{.count = 3, .copies = 2};
  CHECK(servers.head(2) == 2);
  servers.dead = {2};
  CHECK(servers.head(2) == 0);
  CHECK(servers.head(1) == 1);
  servers.dead = {2, 0};
  CHECK(servers.head(2) == std::nullopt);
  CHECK(servers.head(0) == 1);
  servers = {.count = 2, .copies = 1, .dead = {1}};
  CHECK(servers.head(1) == std::nullopt);
}

}  // namespace
}  // namespace dt
