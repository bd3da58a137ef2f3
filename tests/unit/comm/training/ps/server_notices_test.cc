#include "comm/training/ps/client.h"
#include "comm/training/ps/server.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace dt {
namespace {

/// Connects a worker 0 that the rendezvous knows by its second attempt.
Result<std::unique_ptr<PsClient>> connect_as(PsJob& job, uint32_t attempt, uint32_t copies) {
  Claim claim = job.claim({"worker", 0});
  claim.attempt = 2;
  auto client = TRY(
      RendezvousClient::connect({.server = job.rendezvous().address(), .claim = claim}, soon()));
  claim.attempt = attempt;
  return PsClient::connect(std::make_unique<RendezvousDirectory>(std::move(client)),
                           {.links = {.claim = claim, .copies = copies}}, soon());
}

void restart_worker(PsJob& job) {
  job.rendezvous().notify({Notice::Kind::dead, {"worker", 0}, "killed by SIGKILL", 1, true});
  job.rendezvous().notify({Notice::Kind::restarted, {"worker", 0}, "", 2});
}

TEST_CASE("a restarted worker trains on, and its attempt before is refused") {
  PsJob job({.workers = 1});
  const PsJob::Worker first = job.join(0);
  declare(*first.ps, {"w", {5}});
  push(*first.ps, "w", {1});
  restart_worker(job);
  {
    const auto second = must(connect_as(job, 2, 1));
    declare(*second, {"w", {5}});
    CHECK(pull(*second, "w", 1) == std::vector<float>{4});
    push(*second, "w", {1});
    CHECK(pull(*second, "w", 1) == std::vector<float>{3});
    CHECK_FALSE(first.ps->step());
    second->leave(seconds(10));
  }
  job.rendezvous().until(
      [](const RendezvousServer::Counters& counters) { return counters.joined <= 2; });
  const auto refused = connect_as(job, 1, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "cannot connect to ps:0 on store0: attempt 1 of worker:0 on node0 has ended, and attempt 2 "
        "has begun");
}

TEST_CASE("a restarted worker trains on at the server that takes over, be it before or after") {
  for (const bool before : {true, false}) {
    CAPTURE(before);
    PsJob job({.workers = 1, .servers = 2, .server = {.copies = 2}});
    const PsJob::Worker first = job.join(0);
    declare(*first.ps, {"w", {5}});
    push(*first.ps, "w", {1});
    if (!before) job.kill(0);
    restart_worker(job);
    if (before) job.kill(0);
    {
      const auto second = must(connect_as(job, 2, 2));
      declare(*second, {"w", {5}});
      CHECK(pull(*second, "w", 1) == std::vector<float>{4});
      CHECK(push(*second, "w", {1}).counted);
      CHECK(pull(*second, "w", 1) == std::vector<float>{3});
      second->leave(seconds(10));
    }
    job.rendezvous().until(
        [](const RendezvousServer::Counters& counters) { return counters.joined <= 2; });
    const auto refused = connect_as(job, 1, 2);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message ==
          "cannot connect to ps:1 on store1: attempt 1 of worker:0 on node0 has ended, and attempt "
          "2 has begun");
  }
}

}  // namespace
}  // namespace dt
