#include "comm/engine/point_to_point.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <numeric>

namespace dt {
namespace {

using Ints = std::vector<int32_t>;

OperationRequest request(OperationKind kind, int peer, Ints& values) {
  return {.kind = kind,
          .type = ElementType::int32,
          .peer = peer,
          .count = values.size(),
          .input = kind == OperationKind::send ? values.data() : nullptr,
          .output = kind == OperationKind::send ? nullptr : values.data()};
}
OperationRequest send(int to, Ints& values) {
  return request(OperationKind::send, to, values);
}
OperationRequest receive(int from, Ints& values) {
  return request(OperationKind::receive, from, values);
}
OperationRequest hurried(OperationRequest request) {
  request.timeout = seconds(1);
  return request;
}

/// Steps both ranks a few times: a message larger than its pipe is then under way.
void step_both(EngineGroup& group) {
  for (int i = 0; i < 4; ++i) {
    group[0].step(group.now);
    group[1].step(group.now);
  }
}

TEST_CASE("messages match in the order of submission, whichever side is first") {
  for (const bool receiver_first : {false, true}) {
    CAPTURE(receiver_first);
    EngineGroup group(2);
    std::vector<Ints> sent(100);
    std::vector<Ints> received(100);
    for (size_t i = 0; i < sent.size(); ++i) {
      sent[i].assign(i * 100, static_cast<int32_t>(i));
      received[i].resize(i * 100);
    }
    std::vector<std::shared_ptr<Operation>> all;
    for (const int side : {0, 1}) {
      for (size_t i = 0; i < sent.size(); ++i)
        all.push_back((side == 0) == receiver_first ? group.submit(1, receive(0, received[i]))
                                                    : group.submit(0, send(1, sent[i])));
      group.settle();
    }
    for (const auto& operation : all)
      CHECK(failure(operation) == "ok");
    CHECK(received == sent);
    CHECK(group[0].idle());
    CHECK(group[1].idle());
  }
}

TEST_CASE("the limits of messages that have ended wake no rank") {
  EngineGroup group(2);
  Ints one = {1};
  Ints two = {2};
  const auto sent = group.submit(0, hurried(send(1, one)));
  const auto received = group.submit(1, hurried(receive(0, two)));
  CHECK(group[0].next_deadline() != Time::max());
  group.settle();
  CHECK(succeeded(sent));
  CHECK(succeeded(received));
  CHECK(group[0].next_deadline() == Time::max());
  CHECK(group[1].next_deadline() == Time::max());
}

TEST_CASE("a message keeps its time limit when one with an earlier limit is done") {
  EngineGroup group(2);
  Ints values(10, 7);
  Ints first(10);
  Ints second(10);
  const Time start = group.now;
  OperationRequest later = receive(0, second);
  later.timeout = seconds(3);
  const auto early = group.submit(1, hurried(receive(0, first)));
  const auto late = group.submit(1, later);
  group.submit(0, send(1, values));
  group.settle();
  CHECK(succeeded(early));
  group.pass(seconds(2));
  CHECK(pending(late));
  CHECK(group[1].next_deadline() == start + seconds(3));
  group.pass(seconds(1));
  CHECK(failure_code(late) == Errc::timeout);
  CHECK(group[1].next_deadline() == Time::max());
}

TEST_CASE("a send is not done, and no data moves, before the receiver has posted") {
  EngineGroup group(2);
  Ints values(100'000, 7);
  const auto sending = group.submit(0, send(1, values));
  group.settle();
  CHECK(pending(sending));
  CHECK(group.pipe(0, 1).bytes.empty());
  Ints into(100'000);
  const auto receiving = group.submit(1, receive(0, into));
  group.settle();
  CHECK(succeeded(sending));
  CHECK(succeeded(receiving));
  CHECK(into == values);
}

TEST_CASE("another type or count fails both ends with both values, and the next message works") {
  EngineGroup group(2);
  Ints three(3, 1);
  Ints four(4);
  OperationRequest named = send(1, three);
  named.name = "x";
  const auto sending = group.submit(0, named);
  const auto receiving = group.submit(1, receive(0, four));
  Ints more(3);
  const auto next = group.submit(0, send(1, three));
  const auto next_receive = group.submit(1, receive(0, more));
  group.settle();
  CHECK(failure(sending) == "send to rank 1 \"x\": rank 0 sent int32[3], rank 1 receives int32[4]");
  CHECK(failure(receiving) ==
        "receive from rank 0: rank 0 sent int32[3], rank 1 receives int32[4]");
  CHECK(failure_code(sending) == Errc::mismatch);
  CHECK(failure_code(receiving) == Errc::mismatch);
  CHECK(succeeded(next));
  CHECK(succeeded(next_receive));
  CHECK(more == three);
}

TEST_CASE("a pending receive and a pending collective do not wait for each other") {
  EngineGroup group(3);
  Ints values = {1};
  Ints into = {0};
  const auto early = group.submit(1, receive(0, into));
  const auto barriers = group.submit_all({.kind = OperationKind::barrier});
  group.settle();
  for (const auto& operation : barriers)
    CHECK(succeeded(operation));
  CHECK(pending(early));
  const auto blocked = group.submit(0, {.kind = OperationKind::barrier});
  group.submit(0, send(1, values));
  group.settle();
  CHECK(succeeded(early));
  CHECK(into == values);
  CHECK(pending(blocked));
}

TEST_CASE("a send that times out takes its offer back") {
  EngineGroup group(2);
  Ints lost = {1};
  Ints kept = {2};
  Ints into = {0};
  const auto first = group.submit(0, hurried(send(1, lost)));
  const auto second = group.submit(0, send(1, kept));
  group.settle();
  CHECK(group[0].next_deadline() == group.now + seconds(1));
  group.pass(seconds(1));
  CHECK(failure(first) == "send to rank 1: timed out after 1s: rank 1 (host n1) has not received");
  CHECK(failure_code(first) == Errc::timeout);
  const auto receiving = group.submit(1, receive(0, into));
  group.settle();
  CHECK(succeeded(receiving));
  CHECK(succeeded(second));
  CHECK(into == kept);
}

TEST_CASE("a receive that times out leaves the message to the next one") {
  EngineGroup group(2);
  Ints values = {1};
  Ints into = {0};
  const auto first = group.submit(1, hurried(receive(0, into)));
  group.settle();
  group.pass(seconds(1));
  CHECK(failure(first) == "receive from rank 0: timed out after 1s: rank 0 (host n0) has not sent");
  group.submit(0, send(1, values));
  const auto second = group.submit(1, receive(0, into));
  group.settle();
  CHECK(succeeded(second));
  CHECK(into == values);
}

TEST_CASE("a receive that ends in the middle of its data discards the rest") {
  EngineGroup group(2);
  Ints values(200'000);
  std::iota(values.begin(), values.end(), 0);
  Ints into(200'000);
  group.pipe(0, 1).capacity = 10'000;
  const auto receiving = group.submit(1, hurried(receive(0, into)));
  const auto sending = group.submit(0, send(1, values));
  step_both(group);
  CHECK(into[100] == 100);
  group.now += seconds(1);
  group[1].step(group.now);
  CHECK(failure_code(receiving) == Errc::timeout);
  const Ints so_far = into;
  CHECK(!group[1].idle());
  group.settle();
  CHECK(succeeded(sending));
  CHECK(into == so_far);
  CHECK(group[1].idle());
}

TEST_CASE("a send and its receive with different names are a mismatch at both ends") {
  struct Case {
    std::string sent;
    std::string received;
    std::string text;
  };
  const std::string common(100, 'n');
  const std::string cut = common.substr(0, 96);
  const Case cases[] = {
      {"a", "b", "rank 0 gave its send the name \"a\", rank 1 its receive the name \"b\""},
      {"a", "", "rank 0 gave its send the name \"a\", rank 1 its receive no name"},
      {"", "b", "rank 0 gave its send no name, rank 1 its receive the name \"b\""},
      {common + "x", common + "y",
       "rank 0 gave its send the name \"" + cut +
           "\", rank 1 its receive another one with the same beginning"}};
  EngineGroup group(2);
  Ints values(3);
  for (const Case& c : cases) {
    OperationRequest sent = send(1, values);
    OperationRequest received = receive(0, values);
    sent.name = c.sent;
    received.name = c.received;
    const auto sending = group.submit(0, sent);
    const auto receiving = group.submit(1, received);
    group.settle();
    CHECK(failure(sending).ends_with(": " + c.text));
    CHECK(failure(receiving).ends_with(": " + c.text));
    CHECK(failure_code(sending) == Errc::mismatch);
    received.name = sent.name;
    const auto again = group.submit(0, sent);
    const auto fitting = group.submit(1, received);
    group.settle();
    CHECK(succeeded(again));
    CHECK(succeeded(fitting));
  }
}

TEST_CASE("receives that end in the middle of their data leave nothing behind") {
  EngineGroup group(2);
  Ints values(10'000, 1);
  Ints into(10'000);
  group.pipe(0, 1).capacity = 10'000;
  for (size_t i = 0; i < PointToPoint::offers_max + 1; ++i) {
    const auto receiving = group.submit(1, hurried(receive(0, into)));
    const auto sending = group.submit(0, send(1, values));
    step_both(group);
    group.now += seconds(1);
    group[1].step(group.now);
    REQUIRE(failure_code(receiving) == Errc::timeout);
    group.settle();
    REQUIRE(failure(sending) == "ok");
    REQUIRE(group[1].idle());
  }
}

TEST_CASE("a send that ends in the middle of its data fails the receive, too") {
  EngineGroup group(2);
  Ints values(200'000, 1);
  Ints into(200'000);
  group.pipe(0, 1).capacity = 10'000;
  const auto sending = group.submit(0, hurried(send(1, values)));
  const auto receiving = group.submit(1, receive(0, into));
  step_both(group);
  group.pass(seconds(1));
  CHECK(failure_code(sending) == Errc::timeout);
  CHECK(failure(receiving) ==
        "receive from rank 0: rank 0 (host n0) aborted its send: timed out after 1s");
  const auto next = group.submit_all({.kind = OperationKind::barrier});
  group.settle();
  CHECK(succeeded(next[0]));
  CHECK(succeeded(next[1]));
}

TEST_CASE("a sender keeps more messages than its peer will hold") {
  EngineGroup group(2);
  std::vector<Ints> sent(3 * PointToPoint::offers_max, Ints(1));
  Ints into(1);
  for (Ints& values : sent)
    group.submit(0, send(1, values));
  group.settle();
  CHECK(!group[0].idle());
  for (size_t i = 0; i < sent.size(); ++i) {
    const auto receiving = group.submit(1, receive(0, into));
    group.settle();
    REQUIRE(failure(receiving) == "ok");
  }
  CHECK(group[0].idle());
}

}  // namespace
}  // namespace dt
