#include "comm/training/ps/client.h"
#include "comm/training/ps/server.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace dt {
namespace {

TEST_CASE("a worker connects to a restarted server, and learns nothing of its death") {
  RendezvousFixture rendezvous(table_with_servers(1, 1));
  rendezvous.notify({Notice::Kind::dead, {"ps", 0}, "killed by SIGKILL", 1, true});
  std::thread worker([&] {
    auto directory = std::make_unique<RendezvousDirectory>(rendezvous.join_worker(0));
    const auto ps = must(PsClient::connect(std::move(directory),
                                           {.claim = rendezvous.claim({"worker", 0})}, soon()));
    declare(*ps, {"w", {5}});
    CHECK(pull(*ps, "w", 1) == std::vector<float>{5});
    rendezvous.notify({Notice::Kind::left, {"worker", 0}, ""});
  });
  rendezvous.notify({Notice::Kind::restarted, {"ps", 0}, "", 2});
  RendezvousClient::Options options = rendezvous.client_options({"ps", 0});
  options.claim.attempt = 2;
  const auto client = must(RendezvousClient::connect(options, soon()));
  CHECK(must(PsServer::start(*client, {.claim = options.claim}, soon()))->run());
  worker.join();
}

}  // namespace
}  // namespace dt
