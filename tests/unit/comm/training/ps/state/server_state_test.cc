#include "comm/training/ps/state/server_state.h"

#include "tests/unit/comm/training/ps/state/tensors.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

/// A request whose body is the whole of its memory.
PsIncoming whole(uint32_t worker, uint32_t request, std::shared_ptr<const Bytes> body) {
  const ByteSpan all = *body;
  return {worker, request, std::move(body), all};
}

/// A server of two workers, with one variable of two numbers.
class Server {
 public:
  explicit Server(PsLimits limits = {}, uint32_t servers = 1)
      : state_({.workers = {{.id = {"worker", 0}, .host = "a", .takes_part = true},
                            {.id = {"worker", 1}, .host = "b", .takes_part = true},
                            {.id = {"ps", 0}, .host = "a"}},
                .servers = servers,
                .limits = limits}) {}

  PsServerState& state() { return state_; }
  /// Sends a request; returns its number.
  uint32_t send(uint32_t worker, const PsRequest& request) {
    const auto body = std::make_shared<const Bytes>(encode(request));
    const uint32_t attempt = attempts_.try_emplace(worker, first_attempt).first->second;
    state_.handle({worker, ++last_, body, *body, attempt});
    collect();
    return last_;
  }
  /// The worker's requests are of this attempt from now on.
  void connect(uint32_t worker, uint32_t attempt) {
    attempts_[worker] = attempt;
    REQUIRE_FALSE(ask(worker, AttachRequest{.session = attempt}).error);
  }
  void collect() {
    for (PsDelivery& delivery : state_.take_deliveries())
      CHECK(replies_.emplace(delivery.request, delivery.reply.joined()).second);
  }
  bool replied(uint32_t request) const { return replies_.contains(request); }
  PsReply reply(uint32_t request) const {
    REQUIRE(replied(request));
    return decode_ps_reply(replies_.at(request)).value();
  }
  PsReply ask(uint32_t worker, const PsRequest& request) { return reply(send(worker, request)); }
  void declare() {
    const DeclaredWhole pair(0, plain_variable("w", {2}), {10, 20});
    REQUIRE_FALSE(ask(0, pair.request).error);
  }
  PushRequest push(const std::vector<float>& gradient) {
    gradient_ = bytes_of(gradient);
    return {.gradients = {{.shard = 0, .values = gradient_}}, .pulls = {{.shard = 0}}};
  }

 private:
  PsServerState state_;
  uint32_t last_ = 0;
  std::map<uint32_t, uint32_t> attempts_;  ///< by worker
  std::map<uint32_t, Bytes> replies_;
  Bytes gradient_;
};

TEST_CASE("an asynchronous push is answered with the changed values") {
  Server server;
  server.declare();
  const uint32_t asked = server.send(1, server.push({1, 2}));
  const PsReply reply = server.reply(asked);
  CHECK_FALSE(reply.error);
  CHECK(reply.step == 1);
  CHECK(numbers_of<float>(reply.values.at(0)) == std::vector<float>{9, 18});
}

constexpr size_t long_count = 50'000;

/// A server with a variable of many zeros, whose replies are not sent yet.
struct LongServer {
  LongServer() {
    DeclaredWhole all(0, plain_variable("w", {long_count}), std::vector<float>(long_count));
    handle(0, PsRequest(all.request));
    state.take_deliveries();
  }
  void handle(uint32_t worker, const PsRequest& request) {
    state.handle(whole(worker, ++last, std::make_shared<const Bytes>(encode(request))));
  }
  void push(uint32_t worker, float gradient) {
    const Bytes bytes = bytes_of(std::vector<float>(long_count, gradient));
    handle(worker,
           PushRequest{.gradients = {{.shard = 0, .values = bytes}}, .pulls = {{.shard = 0}}});
  }
  PsServerState state{{.workers = {{.id = {"worker", 0}, .host = "a", .takes_part = true},
                                   {.id = {"worker", 1}, .host = "b", .takes_part = true},
                                   {.id = {"ps", 0}, .host = "a"}}}};
  uint32_t last = 0;
};

/// The value in a reply, which is the same in all elements.
float only_value(const PsDelivery& delivery) {
  const Bytes sent = delivery.reply.joined();
  const std::vector<float> values = numbers_of<float>(decode_ps_reply(sent).value().values.at(0));
  CHECK(values == std::vector<float>(long_count, values.at(0)));
  return values.at(0);
}

TEST_CASE("long replies have the values after their own push, however late they are sent") {
  LongServer server;
  server.push(0, 1);
  std::vector<PsDelivery> first = server.state.take_deliveries();
  first[0].reply.parts[1].ready();  // the rest comes later
  SUBCASE("behind another push") {
    server.push(1, 10);
    CHECK(only_value(server.state.take_deliveries()[0]) == -11);
  }
  SUBCASE("behind a pull of another worker") {
    server.handle(1, PullRequest{.pulls = {{.shard = 0}}});
    CHECK(only_value(server.state.take_deliveries()[0]) == -1);
  }
  SUBCASE("behind a checkpoint and its restoration") {
    const Bytes saved = server.state.save().joined();
    server.push(1, 10);
    REQUIRE(server.state.load(SavedBytes::in_memory(saved)));
    server.handle(1, PullRequest{.pulls = {{.shard = 0}}});
    CHECK(only_value(server.state.take_deliveries().back()) == -1);
  }
  CHECK(only_value(first[0]) == -1);
}

TEST_CASE("a push has its whole effect when its reply is never sent") {
  LongServer server;
  server.push(0, 1);
  server.state.take_deliveries();
  server.handle(1, PullRequest{.pulls = {{.shard = 0}}});
  CHECK(only_value(server.state.take_deliveries()[0]) == -1);
}

TEST_CASE("a worker waits for the values that rank 0 declares") {
  Server server;
  DeclaredWhole pair(0, plain_variable("w", {2}), {10, 20});
  pair.request.initializes = false;
  const uint32_t waiting = server.send(1, pair.request);
  CHECK_FALSE(server.replied(waiting));
  SUBCASE("until they come") {
    server.declare();
    CHECK_FALSE(server.reply(waiting).error);
  }
  SUBCASE("or rank 0 dies") {
    server.state().note({Notice::Kind::dead, {"worker", 0}, "killed by SIGKILL"});
    server.collect();
    const PsReply reply = server.reply(waiting);
    REQUIRE(reply.error);
    CHECK(reply.error->message ==
          "the variables have no initial values: worker:0 on a died: killed by SIGKILL");
  }
}

TEST_CASE("the declaration of rank 0 counts, also when another one comes first") {
  Server server;
  DeclaredWhole other(0, plain_variable("w", {3}), {0, 0, 0});
  other.request.initializes = false;
  const uint32_t early = server.send(1, other.request);
  CHECK_FALSE(server.replied(early));
  server.declare();
  const PsReply reply = server.reply(early);
  REQUIRE(reply.error);
  CHECK(reply.error->message ==
        "variable w: worker:1 on b declares float32[3], sgd, but worker:0 on a declared "
        "float32[2], sgd");
}

TEST_CASE("bytes that are no request get an error, and the server stays up") {
  Server server;
  server.declare();
  server.state().handle(whole(1, 77, std::make_shared<const Bytes>(to_bytes("nonsense"))));
  server.collect();
  CHECK(server.reply(77).error->code == Errc::protocol);
  CHECK_FALSE(server.ask(1, StatusRequest{}).error);
}

TEST_CASE("a worker with too many requests under way is refused by name") {
  Server server({.requests_per_worker = 2});
  DeclaredWhole pair(0, plain_variable("w", {2}), {10, 20});
  pair.request.initializes = false;
  server.send(1, pair.request);
  server.send(1, pair.request);
  const PsReply third = server.ask(1, StatusRequest{});
  REQUIRE(third.error);
  CHECK(third.error->message == "worker:1 on b has 3 requests under way, more than 2");
}

TEST_CASE("synchronous pushes wait for the decision, which the next request forwards") {
  Server server;
  server.declare();
  REQUIRE_FALSE(server.ask(0, ModeRequest{PsMode::Kind::sync, 2}).error);
  const PsMode mode = server.ask(0, StatusRequest{}).mode;
  std::vector<uint32_t> commits;
  for (const uint32_t worker : {0U, 1U}) {
    PushRequest push = server.push({2, 4});
    push.kind = PsMode::Kind::sync;
    CHECK(server.ask(worker, push).verdict == PsVerdict::held);
    commits.push_back(server.send(worker, CommitRequest{.mode = mode, .round = 0}));
  }
  const PsReply decided = server.reply(commits[0]);
  CHECK(decided.decision == PsDecision{.round = 1, .workers = {0, 1}});
  const PsReply values =
      server.ask(1, PullRequest{.decision = decided.decision, .pulls = {{.shard = 0}}});
  CHECK(numbers_of<float>(values.values.at(0)) == std::vector<float>{8, 16});
}

TEST_CASE("a checkpoint is refused when it is damaged, foreign or another server's") {
  Server server;
  server.declare();
  const Bytes saved = server.state().save().joined();
  Server fresh;
  REQUIRE(fresh.state().load(SavedBytes::in_memory(saved)));
  CHECK(fresh.state().save().joined() == saved);

  Bytes damaged = saved;
  damaged[saved.size() / 2] ^= std::byte{1};
  struct Case {
    Bytes bytes;
    const char* message;
  };
  const Bytes cut(saved.begin(), saved.end() - 1);
  const std::vector<Case> cases = {
      {damaged, "its checksum does not fit: it is damaged or cut short"},
      {cut, "its checksum does not fit: it is damaged or cut short"},
      {to_bytes("something else"), "it is no checkpoint of this version of dtrain"},
      {{}, "it is no checkpoint of this version of dtrain"},
  };
  for (const Case& which : cases) {
    const Result<> loaded = fresh.state().load(SavedBytes::in_memory(which.bytes));
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().message == which.message);
  }
  Server of_two({}, 2);
  const Result<> other = of_two.state().load(SavedBytes::in_memory(saved));
  REQUIRE_FALSE(other);
  CHECK(other.error().message == "it is of parameter server 0 of 1, and this one is 0 of 2");
  CHECK(fresh.state().save().joined() == saved);
}

TEST_CASE("a client that comes back repeats its last request, which has its effect once") {
  Server server;
  server.declare();
  REQUIRE_FALSE(server.ask(1, AttachRequest{.session = 5}).error);
  const auto body = std::make_shared<const Bytes>(encode(PsRequest(server.push({1, 2}))));
  const auto ask_again = [&] {
    CHECK_FALSE(server.state().handle(whole(1, 1000, body)));
    const auto deliveries = server.state().take_deliveries();
    REQUIRE(deliveries.size() == 1);
    CHECK(deliveries[0].request == 1000);
    const Bytes message = deliveries[0].reply.joined();
    const PsReply reply = decode_ps_reply(message).value();
    CHECK_FALSE(reply.error);
    CHECK(reply.step == 1);
    return numbers_of<float>(reply.values.at(0));
  };
  CHECK(server.state().handle(whole(1, 1000, body)));
  server.state().take_deliveries();
  REQUIRE_FALSE(server.ask(1, AttachRequest{.session = 5}).error);
  CHECK(ask_again() == std::vector<float>{9, 18});
  CHECK_FALSE(server.ask(0, server.push({1, 1})).error);
  CHECK(ask_again() == std::vector<float>{8, 17});
  // Another client has its own numbers.
  REQUIRE_FALSE(server.ask(1, AttachRequest{.session = 6}).error);
  CHECK(server.state().handle(whole(1, 1000, body)));
  CHECK(server.state().step() == 3);
}

TEST_CASE("a request that still waits when its client comes back gets one reply") {
  Server server;
  server.declare();
  for (const uint32_t worker : {0U, 1U})
    REQUIRE_FALSE(server.ask(worker, AttachRequest{.session = worker + 1}).error);
  const uint32_t waiting = server.send(0, BarrierRequest{});
  REQUIRE_FALSE(server.ask(0, AttachRequest{.session = 1}).error);
  const auto again = std::make_shared<const Bytes>(encode(PsRequest(BarrierRequest{})));
  CHECK_FALSE(server.state().handle(whole(0, waiting, again)));
  CHECK_FALSE(server.replied(waiting));
  CHECK_FALSE(server.ask(1, BarrierRequest{}).error);
  CHECK_FALSE(server.reply(waiting).error);
}

TEST_CASE("another client of a worker ends the waits of the one before") {
  Server server;
  server.declare();
  for (const uint32_t worker : {0U, 1U})
    REQUIRE_FALSE(server.ask(worker, AttachRequest{.session = worker + 1}).error);
  const uint32_t waiting = server.send(0, BarrierRequest{});
  REQUIRE_FALSE(server.ask(0, AttachRequest{.session = 9}).error);
  const uint32_t other = server.send(1, BarrierRequest{});
  CHECK_FALSE(server.replied(other));
  CHECK_FALSE(server.ask(0, BarrierRequest{}).error);
  CHECK(server.replied(other));
  CHECK_FALSE(server.replied(waiting));
}

TEST_CASE("a checkpoint gives values to variables that have none") {
  Server server;
  server.declare();
  const Bytes saved = server.state().save().joined();
  Server fresh;
  REQUIRE(fresh.state().load(SavedBytes::in_memory(saved)));
  DeclaredWhole pair(0, plain_variable("w", {2}), {0, 0});
  pair.request.initializes = false;
  CHECK_FALSE(fresh.ask(1, pair.request).error);
  const PsReply values = fresh.ask(1, PullRequest{.pulls = {{.shard = 0}}});
  CHECK(numbers_of<float>(values.values.at(0)) == std::vector<float>{10, 20});
}

/// Returns the error of a push of this worker; empty: it had its effect.
std::string push_error(Server& server, uint32_t worker) {
  const PsReply reply = server.ask(worker, server.push({1, 1}));
  return reply.error ? reply.error->message : "";
}

TEST_CASE(
    "late pushes of a dead worker and of an earlier attempt are refused, and change nothing") {
  Server server;
  server.declare();
  PsServerState& state = server.state();
  server.connect(1, 1);
  CHECK(push_error(server, 1).empty());
  state.note({Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL", 1, true});
  CHECK(push_error(server, 1) ==
        "worker:1 on b died: killed by SIGKILL, so its requests are refused");
  state.note({Notice::Kind::restarted, {"worker", 1}, "", 2});
  const char* const ended = "attempt 1 of worker:1 on b has ended, and attempt 2 has begun";
  CHECK(push_error(server, 1) == ended);
  CHECK(state.sessions().check_attempt(1, 1).error() == Error{Errc::refused, ended});
  CHECK(state.step() == 1);
  REQUIRE(state.sessions().check_attempt(1, 2));
  server.connect(1, 2);
  CHECK(push_error(server, 1).empty());
  CHECK(state.step() == 2);
}

TEST_CASE("a restarted worker may connect before the server has the news of its death") {
  Server server;
  server.declare();
  PsServerState& state = server.state();
  server.connect(1, 1);
  server.connect(1, 2);
  state.note({Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL", 1, true});
  state.note({Notice::Kind::restarted, {"worker", 1}, "", 2});
  CHECK(push_error(server, 1).empty());
  state.note({Notice::Kind::dead, {"worker", 1}, "exit status 3", 2});
  CHECK(push_error(server, 1) == "worker:1 on b died: exit status 3, so its requests are refused");
}

TEST_CASE("a server serves on while a worker returns, and ends when none does") {
  Server server;
  PsServerState& state = server.state();
  state.note({Notice::Kind::left, {"worker", 0}, ""});
  state.note({Notice::Kind::dead, {"worker", 1}, "exit status 3", 1, true});
  CHECK_FALSE(state.all_gone());
  SUBCASE("it leaves later") {
    state.note({Notice::Kind::restarted, {"worker", 1}, "", 2});
    CHECK_FALSE(state.all_gone());
    state.note({Notice::Kind::left, {"worker", 1}, "", 2});
  }
  SUBCASE("the launcher cancels its restart") {
    state.note({Notice::Kind::dead, {"worker", 1}, "exit status 3"});
  }
  CHECK(state.all_gone());
}

TEST_CASE("a worker waits for the values of a first rank that returns") {
  Server server;
  DeclaredWhole pair(0, plain_variable("w", {2}), {10, 20});
  pair.request.initializes = false;
  const uint32_t waiting = server.send(1, pair.request);
  server.state().note({Notice::Kind::dead, {"worker", 0}, "exit status 3", 1, true});
  server.collect();
  CHECK_FALSE(server.replied(waiting));
  server.connect(0, 2);
  server.declare();
  CHECK_FALSE(server.reply(waiting).error);
}

}  // namespace
}  // namespace dt
