#include "comm/transport/endpoint_exchange.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <poll.h>

#include <memory>
#include <optional>
#include <string>

namespace dt {
namespace {

using Endpoints = EndpointExchange::Endpoints;

PeerEndpoint endpoint_at(uint16_t port) {
  return {.tcp = {{"127.0.0.1", port}}, .local = "name"};
}

/// Pumps the client until a list or an error is there.
Result<Endpoints> await_list(RendezvousClient& client, EndpointExchange& exchange) {
  for (const Time end = soon(); Clock::now() < end;) {
    TRY(client.pump());
    std::optional<Endpoints> list = TRY(exchange.take());
    if (list) return *std::move(list);
    pollfd ready{client.fd(), POLLIN, 0};
    ::poll(&ready, 1, 100);
  }
  return fail(Errc::timeout, "no list");
}

TEST_CASE("each rank gets the endpoints of all by two requests, when the last has published") {
  constexpr int ranks = 5;
  RendezvousFixture server(table_of_workers(ranks));
  std::vector<std::unique_ptr<RendezvousClient>> clients;
  std::vector<std::unique_ptr<EndpointExchange>> exchanges;
  Endpoints expected;
  for (int rank = 0; rank < ranks; ++rank) {
    clients.push_back(server.join_worker(rank));
    exchanges.push_back(std::make_unique<EndpointExchange>(*clients.back(), ranks));
    const PeerEndpoint endpoint = endpoint_at(static_cast<uint16_t>(1000 + rank));
    expected[endpoint_key({"worker", rank})] = endpoint.encode();
    REQUIRE(exchanges.back()->publish(endpoint));
    REQUIRE(exchanges.back()->ask(seconds(60)));
    // The second is not sent: a reply is still to come.
    REQUIRE(exchanges.back()->ask(seconds(60)));
    REQUIRE(clients.back()->pump());
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    CHECK(await_list(*clients[rank], *exchanges[rank]).value() == expected);
    CHECK(exchanges[rank]->published());
  }
  CHECK(server.counters().requests == 2 * ranks);
}

TEST_CASE("the list comes before the time is over, with those that have published") {
  const RendezvousFixture server(table_of_workers(2));
  const auto client = server.join_worker(1);
  EndpointExchange exchange(*client, 2);
  REQUIRE(exchange.publish(endpoint_at(7)));
  CHECK(!exchange.published());
  REQUIRE(exchange.ask(milliseconds(100)));
  const Endpoints some = {{endpoint_key({"worker", 1}), endpoint_at(7).encode()}};
  CHECK(await_list(*client, exchange).value() == some);
  REQUIRE(exchange.ask(milliseconds(100)));
  CHECK(await_list(*client, exchange).value() == some);
}

TEST_CASE("a store without room for the endpoint is an error") {
  RendezvousServer::Options options;
  options.limits.keys = 0;
  const RendezvousFixture server(table_of_workers(2), options);
  const auto client = server.join_worker(0);
  EndpointExchange exchange(*client, 2);
  REQUIRE(exchange.publish(endpoint_at(7)));
  REQUIRE(exchange.ask(seconds(60)));
  const auto list = await_list(*client, exchange);
  REQUIRE(!list);
  CHECK(list.error().message ==
        "cannot set 'listen/worker/0': the job has 0 keys, the most there may be");
}

}  // namespace
}  // namespace dt
