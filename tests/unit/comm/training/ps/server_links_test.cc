#include "comm/training/ps/server_links.h"

#include "comm/training/ps/client.h"
#include "comm/training/ps/server.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace dt {
namespace {

using Network = PsJob::Network;

TEST_CASE("a worker connects to a restarted server, and learns nothing of its death") {
  RendezvousFixture rendezvous(table_with_servers(1, 1));
  rendezvous.notify({Notice::Kind::dead, {"ps", 0}, "killed by SIGKILL", 1, true});
  std::thread worker([&] {
    auto view = std::make_unique<ClientRendezvousView>(rendezvous.join_worker(0));
    const auto ps = must(PsClient::connect(
        std::move(view), {.links = {.claim = rendezvous.claim({"worker", 0})}}, soon()));
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

void check_death_of_server(Network network) {
  PsJob job({.workers = 2, .servers = 2, .network = network});
  const PsJob::Worker worker = job.join(0);
  declare(*worker.ps, {"w", {1}});
  SUBCASE("while the call waits") {
    std::thread death(
        [&] { job.rendezvous().notify({Notice::Kind::dead, {"ps", 1}, "killed by SIGKILL"}); });
    const Result<> waited = worker.ps->barrier();
    death.join();
    REQUIRE_FALSE(waited);
    CHECK(waited.error().code == Errc::peer_lost);
    CHECK(waited.error().message == "the parameter server ps:1 on store1 died: killed by SIGKILL");
  }
  SUBCASE("before the call") {
    job.stop(1);
    job.rendezvous().notify({Notice::Kind::dead, {"ps", 1}, "exit status 3"});
    const auto status = worker.ps->status();
    REQUIRE_FALSE(status);
    CHECK(status.error().message == "the parameter server ps:1 on store1 died: exit status 3");
  }
  SUBCASE("also without a notice") {
    job.stop(0);
    const auto step = worker.ps->step();
    REQUIRE_FALSE(step);
    CHECK(step.error().code == Errc::peer_lost);
    CHECK(step.error().message.starts_with(
        "the connection to the parameter server ps:0 on store0 is broken: "));
  }
  CHECK_FALSE(worker.ps->step());
}

TEST_CASE("the death of a server ends a call with an error that names it") {
  check_death_of_server(Network::tcp);
}

TEST_CASE("the death of a server of this host ends a call with an error that names it") {
  check_death_of_server(Network::one_host);
}

TEST_CASE("a job without parameter servers is named, and so is a server that does not serve") {
  RendezvousFixture rendezvous(table_with_servers(2, 1));
  const auto view = [&](int worker) {
    return std::make_unique<ClientRendezvousView>(rendezvous.join_worker(worker));
  };
  const auto none = PsClient::connect(
      view(0), {.links = {.claim = rendezvous.claim({"worker", 0}), .role = "store"}}, soon());
  REQUIRE_FALSE(none);
  CHECK(none.error().message ==
        "the job has no task of role store; start parameter servers by --role store=1");
  const auto late =
      PsClient::connect(view(1), {.links = {.claim = rendezvous.claim({"worker", 1})}},
                        Clock::now() + milliseconds(50));
  REQUIRE_FALSE(late);
  CHECK(late.error().message ==
        "ps:0 on store0 serves no parameters: it has not called dtrain_ps_serve in time");
}

TEST_CASE("a call that takes too long fails, and so do all later ones") {
  PsJob job({.workers = 2});
  const auto ps = must(PsClient::connect(
      job.view(0), {.links = {.claim = job.claim({"worker", 0}), .call_timeout = milliseconds(50)}},
      soon()));
  const Result<> waited = ps->barrier();
  REQUIRE_FALSE(waited);
  CHECK(waited.error().message ==
        "the parameter server ps:0 on store0 has not answered in time; "
        "the calls that follow fail, too");
  CHECK_FALSE(ps->step());
}

}  // namespace
}  // namespace dt
