#include "comm/ps/server_dial.h"

#include "tests/unit/comm/ps/ps_job.h"

namespace dt {
namespace {

TEST_CASE("the keys of a server are prefixes of no other ones") {
  CHECK(ps_endpoint_key({"ps", 1}) == "ps/ps/1/endpoint");
  CHECK(ps_replica_key({"ps", 1}) == "ps/ps/1/replica");
}

TEST_CASE("a server is dialled at its endpoint, and one that does not answer is named") {
  PsJob job({.workers = 2});
  const PsJob::Worker worker = job.join(0);
  const auto client = job.rendezvous().join({"worker", 1});
  const Bytes value = must(client->get(ps_endpoint_key({"ps", 0}), soon())).value();
  PeerEndpoint endpoint = must(PeerEndpoint::decode(value));
  const TaskEntry& server = *client->table().find({"ps", 0});
  const PsDialler dialler{.claim = job.claim({"worker", 1})};
  CHECK(dial_server(dialler, server, endpoint, soon()));
  const PsDialler itself{.claim = job.claim({"ps", 0})};
  const auto refused = dial_server(itself, server, endpoint, soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::refused);
  endpoint.tcp.clear();
  const auto none = dial_server(dialler, server, endpoint, soon());
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "cannot connect to ps:0 on store0: it has no address");
}

}  // namespace
}  // namespace dt
