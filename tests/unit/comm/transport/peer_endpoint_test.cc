#include "comm/transport/peer_endpoint.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("an endpoint is read back as it was published, and nothing else is read") {
  const PeerEndpoint endpoints[] = {
      {.tcp = {}, .local = ""},
      {.tcp = {{"127.0.0.1", 80}}, .local = ""},
      {.tcp = {{"::1", 65535}, {"10.0.0.1", 7}}, .local = "dtrain-abc"},
      {.tcp = {}, .local = "", .transport = Transport::tcp}};
  for (const PeerEndpoint& endpoint : endpoints)
    CHECK(PeerEndpoint::decode(endpoint.encode()).value() == endpoint);
  CHECK(!PeerEndpoint::decode(as_bytes("listen")).has_value());
  const auto with = [](const char* address, uint8_t transport) {
    return Writer().texts({address}).text("").number(transport).take();
  };
  CHECK(PeerEndpoint::decode(with("127.0.0.1:80", 2)).has_value());
  CHECK(!PeerEndpoint::decode(with("127.0.0.1:80", 3)).has_value());
  CHECK(!PeerEndpoint::decode(with("somewhere:80", 2)).has_value());
  CHECK(endpoint_key({"worker", 3}) == "listen/worker/3");
}

TEST_CASE("each transport has a name, and none means auto") {
  for (const Transport transport : {Transport::automatic, Transport::shm, Transport::tcp})
    CHECK(transport_named(transport_name(transport)) == transport);
  CHECK(transport_named("") == Transport::automatic);
  CHECK(!transport_named("rdma"));
}

}  // namespace
}  // namespace dt
