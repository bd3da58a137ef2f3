#include "comm/named/name_messages.h"

#include "base/format.h"
#include "comm/transport/message_link.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

NameArrival arrival(const std::string& name) {
  return {.descriptor = {.kind = OperationKind::all_reduce,
                         .count = 7,
                         .name_hash = hash_of_name(name),
                         .name = name,
                         .terms = {.prescale = 0.5, .postscale = 1}},
          .timeout = seconds(3),
          .remaining = seconds(2),
          .blocks = true,
          .part_of = {.list = 5, .parts = 6}};
}

TEST_CASE("announcements fill as many messages as they need, and keep their order") {
  std::vector<NameArrival> sent;
  for (int i = 0; i < 300; ++i)
    sent.push_back(arrival(format("layer{}/weights", i)));
  std::vector<NameArrival> received;
  int messages = 0;
  for (size_t from = 0; from < sent.size(); ++messages) {
    const Bytes bytes = encode_arrivals(sent, from);
    CHECK(bytes.size() <= control_bytes_max);
    std::vector<NameArrival> decoded = decode_arrivals(bytes).value();
    for (NameArrival& each : decoded)
      received.push_back(std::move(each));
  }
  CHECK(messages > 1);
  REQUIRE(received.size() == sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    REQUIRE(received[i].descriptor == sent[i].descriptor);
    CHECK(received[i].timeout == seconds(3));
    CHECK(received[i].remaining == seconds(2));
    CHECK(received[i].blocks);
    CHECK(received[i].part_of.list == 5);
    CHECK(received[i].part_of.parts == 6);
  }
}

TEST_CASE("an announcement that is cut short at any byte is refused") {
  const std::vector<NameArrival> arrivals = {arrival("a"), arrival("b")};
  size_t from = 0;
  const Bytes bytes = encode_arrivals(arrivals, from);
  const size_t whole = bytes.size() / 2;
  for (size_t size = 1; size < bytes.size(); ++size) {
    if (size == whole) continue;
    CHECK(!decode_arrivals(ByteSpan(bytes).first(size)));
  }
}

TEST_CASE("a wish and a route keep their numbers, and others are refused") {
  std::vector<NameArrival> arrivals = {arrival("a"), arrival("b")};
  arrivals[1].wish = DeviceRoute::undecided;
  arrivals[1].of_unnamed = true;
  arrivals[1].before = 9;
  size_t from = 0;
  Bytes bytes = encode_arrivals(arrivals, from);
  const std::vector<NameArrival> decoded = decode_arrivals(bytes).value();
  CHECK_FALSE(decoded[0].wish.has_value());
  CHECK_FALSE(decoded[0].of_unnamed);
  CHECK(decoded[1].of_unnamed);
  CHECK(decoded[1].before == 9);
  CHECK(decoded[1].wish == DeviceRoute::undecided);
  bytes[bytes.size() - sizeof(DeviceRoute)] = std::byte{3};
  CHECK(!decode_arrivals(bytes));
  NameDecision decision{.names = {1}};
  CHECK_FALSE(decode_name_decision(encode(decision)).value().route.has_value());
  decision.route = DeviceRoute::failed;
  CHECK(decode_name_decision(encode(decision)).value().route == DeviceRoute::failed);
  decision.route = static_cast<DeviceRoute>(-2);
  CHECK(!decode_name_decision(encode(decision)));
}

TEST_CASE("a decision has its names in order, and the reason of a failure") {
  const NameDecision executed{.names = {3, 1, 2}};
  CHECK(decode_name_decision(encode(executed)).value().names == executed.names);
  CHECK(!decode_name_decision(encode(executed)).value().failure);
  const NameDecision failed{.names = {9},
                            .failure = OperationFailure{Errc::mismatch, 2, "they differ"}};
  const NameDecision received = decode_name_decision(encode(failed)).value();
  CHECK(received.failure->code == Errc::mismatch);
  CHECK(received.failure->blamed_rank == 2);
  CHECK(received.failure->reason == "they differ");
}

TEST_CASE("decisions that rank 0 never makes are refused") {
  CHECK(!decode_name_decision(encode(NameDecision{})));
  CHECK(!decode_name_decision(
      encode(NameDecision{.names = std::vector<uint64_t>(names_per_decision_max + 1)})));
  CHECK(!decode_name_decision(
      encode(NameDecision{.names = {1}, .failure = OperationFailure{Errc::os, 0, ""}})));
  Bytes longer = encode(NameDecision{.names = {1}});
  longer.push_back(std::byte{0});
  CHECK(!decode_name_decision(longer));
}

TEST_CASE("a decision has the calls of ranks that have joined, and fits into a message") {
  NameDecision decision{.average_over = 7};
  for (size_t i = 0; i < names_per_decision_max; ++i)
    decision.names.push_back(i);
  for (size_t i = 0; i < names_for_joined_max; ++i) {
    decision.for_joined.push_back({.kind = OperationKind::all_reduce,
                                   .count = i,
                                   .name_hash = i,
                                   .terms = {.prescale = 2, .average_active = true}});
  }
  CHECK(encode(decision).size() <= control_bytes_max);
  const NameDecision received = decode_name_decision(encode(decision)).value();
  CHECK(received.for_joined == decision.for_joined);
  CHECK(received.average_over == 7);
  CHECK(received.last_joined == -1);
  const NameDecision joined{.names = {1}, .last_joined = 3};
  CHECK(decode_name_decision(encode(joined)).value().last_joined == 3);
}

TEST_CASE("decisions that ranks which have joined cannot follow are refused") {
  const Descriptor sum = {.kind = OperationKind::all_reduce};
  NameDecision decision{.names = {1}, .for_joined = {{.kind = OperationKind::broadcast}}};
  CHECK(!decode_name_decision(encode(decision)));
  decision.for_joined.assign(names_for_joined_max + 1, sum);
  CHECK(!decode_name_decision(encode(decision)));
  CHECK(!decode_name_decision(encode(NameDecision{.names = {1}, .average_over = -1})));
  CHECK(!decode_name_decision(encode(NameDecision{.names = {1}, .last_joined = -2})));
}

}  // namespace
}  // namespace dt
