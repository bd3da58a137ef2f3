#include "comm/transport/peer_endpoint.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("an endpoint is read back as it was published, and nothing else is read") {
  const PeerEndpoint endpoints[] = {
      {.tcp = {}, .local = ""},
      {.tcp = {{"127.0.0.1", 80}}, .local = ""},
      {.tcp = {{"::1", 65535}, {"10.0.0.1", 7}}, .local = "dtrain-abc"}};
  for (const PeerEndpoint& endpoint : endpoints)
    CHECK(PeerEndpoint::decode(endpoint.encode()).value() == endpoint);
  CHECK(!PeerEndpoint::decode(as_bytes("listen")).has_value());
  CHECK(!PeerEndpoint::decode(Writer().texts({"somewhere:80"}).text("").view()).has_value());
  CHECK(endpoint_key({"worker", 3}) == "listen/worker/3");
}

}  // namespace
}  // namespace dt
