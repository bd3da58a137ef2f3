#include "comm/training/ps/server.h"

#include "comm/training/ps/checkpoint_file.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <fstream>

namespace dt {
namespace {

TEST_CASE("a server ends when all workers have died or left") {
  PsJob job({.workers = 2});
  job.rendezvous().notify({Notice::Kind::left, {"worker", 0}, ""});
  job.rendezvous().notify({Notice::Kind::dead, {"worker", 1}, "killed"});
  CHECK(job.outcome(0).empty());
}

TEST_CASE("a server notices an end that it has read with the reply to a request of its own") {
  RendezvousFixture rendezvous(table_with_servers(1, 2));
  const auto start = [&](RendezvousClient& client, int index) {
    return must(
        PsServer::start(client, {.claim = rendezvous.claim({"ps", index}), .copies = 2}, soon()));
  };
  std::thread other([&] {
    const auto client = rendezvous.join({"ps", 0});
    const auto server = start(*client, 0);
    CHECK(server->run());
  });
  const auto client = rendezvous.join({"ps", 1});
  const auto server = start(*client, 1);
  rendezvous.notify({Notice::Kind::dead, {"worker", 0}, "killed"});
  must(client->get("any", soon()));
  REQUIRE(client->unread_notices().size() == 1);
  CHECK(server->run());
  other.join();
}

TEST_CASE("a server ends with an error when the launcher is lost") {
  PsJob job({.workers = 1});
  const PsJob::Worker worker = job.join(0);
  job.rendezvous().stop();
  CHECK(job.outcome(0).starts_with("the launcher is lost: "));
}

TEST_CASE("a task with rank cannot serve") {
  RendezvousFixture rendezvous(table_with_servers(1, 1));
  const auto client = rendezvous.join_worker(0);
  const auto server = PsServer::start(*client, {.claim = rendezvous.claim({"worker", 0})}, soon());
  REQUIRE_FALSE(server);
  CHECK(server.error().message ==
        "worker:0 has rank 0; a parameter server is a task without rank, "
        "such as those of --role ps=2");
}

TEST_CASE("a worker may connect again, and later than others") {
  for (const PsJob::Network network : {PsJob::Network::tcp, PsJob::Network::one_host}) {
    PsJob job({.workers = 2, .network = network});
    {
      const PsJob::Worker first = job.join(0);
      declare(*first.ps, {"w", {1}});
      push(*first.ps, "w", {1});
      first.ps->leave(seconds(10));
    }
    const PsJob::Worker second = job.join(1);
    declare(*second.ps, {"w", {7}});
    CHECK(pull(*second.ps, "w", 1) == std::vector<float>{0});
  }
}

TEST_CASE("a request that is too long is refused, and the server stays up") {
  PsJob::Network network = PsJob::Network::tcp;
  SUBCASE("over TCP") {
  }
  SUBCASE("in shared memory") {
    network = PsJob::Network::one_host;
  }
  PsJob job({.workers = 1, .server = {.message_bytes_max = 10'000}, .network = network});
  const std::string failure = job.run([](int, PsClient& ps) {
    declare(ps, {"w", {1}});
    const NamedValues large("large", std::vector<float>(5000));
    const PsClient::Declaration declared = large.declaration();
    const Result<> refused = ps.declare({&declared, 1});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::refused);
    CHECK(refused.error().message == "a request is longer than 10000 bytes");
    CHECK(pull(ps, "w", 1) == std::vector<float>{1});
  });
  CHECK_MESSAGE(failure.empty(), failure);
}

/// Trains a little on two servers that make checkpoints.
void train(const std::string& path, int steps, std::vector<float>* values) {
  PsJob job({.workers = 1, .servers = 2, .server = {.checkpoint = path, .checkpoint_every = 2}});
  const std::string failure = job.run([&](int, PsClient& ps) {
    declare(ps, {"w", {100, 200}});
    declare(ps, {"v", {300}});
    for (int i = 0; i < steps; ++i) {
      push(ps, "w", {1, 1});
      push(ps, "v", {1});
    }
    *values = pull(ps, "w", 2);
    values->push_back(pull(ps, "v", 1)[0]);
  });
  CHECK_MESSAGE(failure.empty(), failure);
}

TEST_CASE("servers that start again continue with the newest checkpoint that all have") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  std::vector<float> values;
  train(path, 3, &values);
  CHECK(values == std::vector<float>{97, 197, 297});
  CHECK(checkpoint_steps(path, {0, 2}) == std::vector<uint64_t>{6, 4, 2});
  // Server 1 was killed before it wrote its last file.
  REQUIRE(::unlink((path + "-6.ps-1-of-2").c_str()) == 0);
  train(path, 0, &values);
  CHECK(values == std::vector<float>{98, 198, 298});
}

TEST_CASE("checkpoints of another number of servers keep a server from starting anew") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  for (const CheckpointPart part : {CheckpointPart{0, 2}, CheckpointPart{1, 2}})
    REQUIRE(write_checkpoint(checkpoint_name(path, 48, part), MessageParts::of(to_bytes("x"))));
  RendezvousFixture rendezvous(table_with_servers(1, 1));
  const auto client = rendezvous.join({"ps", 0});
  const auto server =
      PsServer::start(*client, {.claim = rendezvous.claim({"ps", 0}), .checkpoint = path}, soon());
  REQUIRE_FALSE(server);
  CHECK(
      server.error() ==
      Error{Errc::mismatch, "checkpoints " + path +
                                ": step 48 is of 2 parameter servers, and this job has 1; start "
                                "as many as before (ps=2), or choose another name to start anew"});
}

TEST_CASE("a damaged checkpoint keeps a server from starting") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  std::vector<float> values;
  train(path, 1, &values);
  std::ofstream(path + "-2.ps-0-of-2", std::ios::app) << "more";
  RendezvousFixture rendezvous(table_with_servers(1, 2));
  const auto zero = rendezvous.join({"ps", 0});
  const auto one = rendezvous.join({"ps", 1});
  std::thread other([&] {
    const auto server =
        PsServer::start(*one, {.claim = rendezvous.claim({"ps", 1}), .checkpoint = path}, soon());
    CHECK(server);
  });
  const auto server =
      PsServer::start(*zero, {.claim = rendezvous.claim({"ps", 0}), .checkpoint = path}, soon());
  other.join();
  REQUIRE_FALSE(server);
  CHECK(server.error().message == "cannot restore " + path +
                                      "-2.ps-0-of-2: its checksum does not fit: it is damaged or "
                                      "cut short");
}

TEST_CASE("a restarted server of several is refused, since the others have other steps") {
  RendezvousFixture rendezvous(table_with_servers(1, 2));
  const auto client = rendezvous.join({"ps", 1});
  Claim claim = rendezvous.claim({"ps", 1});
  claim.attempt = 2;
  const auto server = PsServer::start(*client, {.claim = claim}, soon());
  REQUIRE_FALSE(server);
  CHECK(server.error() ==
        Error{Errc::input,
              "ps:1 was restarted (attempt 2), but the other 1 parameter servers have "
              "values of another step; only a single server can be restarted"});
}

/// Connects a worker 0 that the rendezvous knows by its second attempt.
Result<std::unique_ptr<PsClient>> connect_as(PsJob& job, uint32_t attempt, uint32_t copies) {
  Claim claim = job.claim({"worker", 0});
  claim.attempt = 2;
  auto client = TRY(
      RendezvousClient::connect({.server = job.rendezvous().address(), .claim = claim}, soon()));
  claim.attempt = attempt;
  return PsClient::connect(std::make_unique<ClientRendezvousView>(std::move(client)),
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
