#include "comm/group/call_exchange.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

using Order = CallExchange::Order;

/// The exchange of rank 0 of three, without links.
struct Exchange {
  Peers peers{{.rank = 0}, std::vector<EnginePeer>(3)};
  GroupPeers group{peers, 0, {0, 1, 2}};
  CallExchange calls{group};
};

TEST_CASE("small data needs no permission") {
  Exchange exchange;
  CHECK(exchange.calls.begin(1, 77, Order::with_data));
  CHECK(exchange.calls.may_send(1));
  CHECK(exchange.calls.may_send(2));
}

TEST_CASE("large data waits for the call of its receiver, in each collective") {
  Exchange exchange;
  CHECK(exchange.calls.begin(1, 77, Order::before_data));
  CHECK(!exchange.calls.may_send(1));
  CHECK(exchange.calls.note(1, 1, 77));
  CHECK(exchange.calls.may_send(1));
  CHECK(!exchange.calls.may_send(2));
  CHECK(exchange.calls.begin(2, 78, Order::before_data));
  CHECK(!exchange.calls.may_send(1));
}

TEST_CASE("a call permits data also when it came before this rank's own") {
  Exchange exchange;
  CHECK(exchange.calls.note(1, 1, 77));
  CHECK(exchange.calls.begin(1, 77, Order::before_data));
  CHECK(exchange.calls.may_send(1));
}

TEST_CASE("another call is noticed before and after this rank's own") {
  Exchange exchange;
  CHECK(exchange.calls.note(1, 1, 99));
  CHECK(!exchange.calls.begin(1, 77, Order::with_data));
  CHECK(exchange.calls.begin(2, 78, Order::with_data));
  CHECK(!exchange.calls.note(2, 2, 99));
  CHECK(exchange.calls.note(2, 3, 99));
  CHECK(!exchange.calls.begin(3, 79, Order::with_data));
}

TEST_CASE("ranks that have agreed send without permission") {
  Exchange exchange;
  CHECK(exchange.calls.begin(1, 77, Order::before_data));
  exchange.calls.begin_agreed(1);
  CHECK(exchange.calls.may_send(1));
}

}  // namespace
}  // namespace dt
