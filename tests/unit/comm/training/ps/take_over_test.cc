#include "comm/training/ps/client.h"
#include "tests/unit/comm/training/ps/manual_peers.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <future>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace dt {
namespace {

const PsServer::Options two_copies = {.copies = 2};

/// Declares a variable for each server, so that each has one.
void declare_three(PsClient& ps) {
  for (const char* name : {"a", "b", "c"})
    declare(ps, {name, {100}});
}

void push_three(PsClient& ps) {
  const float one = 1;
  float value = 0;
  std::vector<PsClient::Array> arrays;
  for (const char* name : {"a", "b", "c"}) {
    arrays.push_back({.name = name,
                      .gradient = std::as_bytes(std::span(&one, 1)),
                      .values = std::as_writable_bytes(std::span(&value, 1))});
  }
  CHECK(must(ps.push(arrays, true, {})).counted);
}

TEST_CASE("with two copies, every push counts once, whichever server dies in between") {
  for (const PsMode::Kind mode : {PsMode::Kind::async, PsMode::Kind::sync}) {
    for (const int victim : {0, 1, 2}) {
      CAPTURE(victim);
      const auto network = victim == 2 ? PsJob::Network::tcp : PsJob::Network::one_host;
      PsJob job({.workers = 2, .servers = 3, .server = two_copies, .network = network});
      const std::string failure = job.run([&](int index, PsClient& ps) {
        declare_three(ps);
        if (index == 0) must(ps.set_mode(mode, 0));
        must(ps.barrier());
        for (int step = 0; step < 20; ++step) {
          if (index == 0 && step == 10) job.kill(victim);
          push_three(ps);
        }
        must(ps.barrier());
        const float expected = mode == PsMode::Kind::async ? 60 : 80;
        for (const char* name : {"a", "b", "c"})
          CHECK(pull(ps, name, 1) == std::vector<float>{expected});
        CHECK(must(ps.status()).front().pushes == std::vector<uint64_t>{20, 20, 0, 0, 0});
      });
      CHECK_MESSAGE(failure.empty(), failure);
    }
  }
}

TEST_CASE("a call that waits at a server that dies returns from the one that takes over") {
  PsJob job({.workers = 2, .servers = 2, .server = two_copies});
  const PsJob::Worker first = job.join(0);
  const PsJob::Worker second = job.join(1);
  declare(*first.ps, {"w", {1}});
  std::thread waiting([&] { CHECK(first.ps->barrier()); });
  job.kill(0);
  CHECK(second.ps->barrier());
  waiting.join();
  CHECK(pull(*first.ps, "w", 1) == std::vector<float>{1});
}

TEST_CASE("the server that takes over may reply before the request is sent again") {
  RendezvousFixture rendezvous(table_with_servers(1, 2));
  ManualServer first(rendezvous, 0);
  ManualServer second(rendezvous, 1);
  // No socket holds so much, so the request is under way until the server reads it.
  const std::vector<float> gradient(6'000'000, 3);
  auto worker = std::async(std::launch::async, [&] {
    const auto ps =
        must(PsClient::connect(std::make_unique<ClientRendezvousView>(rendezvous.join_worker(0)),
                               {.links = {.claim = rendezvous.claim({"worker", 0}), .copies = 2},
                                .placement = {.sharding = {.fixed = 1}}},
                               soon()));
    const PsClient::Declaration declared{plain_variable("w", {gradient.size()}), {}};
    must(ps->declare({&declared, 1}));
    const PsClient::Array array{.name = "w", .gradient = std::as_bytes(std::span(gradient))};
    CHECK(must(ps->push({&array, 1}, false, {})).step == 5);
    CHECK(must(ps->step()) == 6);
  });
  std::optional<ManualConnection> dying(first.accept());
  ManualConnection replica = second.accept();
  for (int request = 0; request < 2; ++request) {  // the first one, and the declaration
    dying->answer();
    replica.answer();
  }
  const uint32_t push = replica.answer();
  dying.reset();
  rendezvous.notify({Notice::Kind::dead, {"ps", 0}, "killed by SIGKILL"});

  ManualConnection next = second.accept();
  next.queue(next.receive().id, PsReply());
  next.queue(push, PsReply{.step = 5});
  next.flush();
  const MessageConnection::Received repeated = next.receive();
  CHECK(repeated.id == push);
  const PsRequest decoded = must(decode_ps_request(*repeated.body));
  const auto& gradients = std::get<PushRequest>(decoded).gradients;
  REQUIRE(gradients.size() == 1);
  CHECK(numbers_of<float>(gradients[0].values) == gradient);
  next.answer({.step = 6});
  worker.get();
}

TEST_CASE("a worker that joins later finds the server that has taken over") {
  PsJob job({.workers = 2, .servers = 2, .server = two_copies});
  const PsJob::Worker first = job.join(0);
  declare(*first.ps, {"w", {1}});
  declare(*first.ps, {"v", {2}});
  job.kill(1);
  CHECK(push(*first.ps, "v", {1}).counted);
  const PsJob::Worker second = job.join(1);
  declare(*second.ps, {"w", {0}});
  declare(*second.ps, {"v", {0}});
  CHECK(pull(*second.ps, "v", 1) == std::vector<float>{1});
}

TEST_CASE("a worker's death counts at the server that takes over, be it before or after") {
  for (const bool before : {true, false}) {
    PsJob job({.workers = 2, .servers = 2, .server = two_copies});
    const PsJob::Worker worker = job.join(0);
    declare(*worker.ps, {"w", {1}});
    must(worker.ps->set_mode(PsMode::Kind::sync, 0));
    const Notice death{Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL"};
    if (before) job.rendezvous().notify(death);
    job.kill(0);
    if (!before) job.rendezvous().notify(death);
    const float gradient = 1;
    const PsClient::Array array{.name = "w", .gradient = std::as_bytes(std::span(&gradient, 1))};
    const auto pushed = worker.ps->push({&array, 1}, false, {});
    REQUIRE_FALSE(pushed);
    CHECK(pushed.error().message ==
          "a step needs the gradients of 2 workers, and 1 are left: worker:1 on node1 died: killed "
          "by SIGKILL");
  }
}

TEST_CASE("the death of both servers with a part is named") {
  PsJob job({.workers = 1, .servers = 2, .server = two_copies});
  const PsJob::Worker worker = job.join(0);
  declare(*worker.ps, {"w", {1}});
  job.kill(1);
  CHECK(push(*worker.ps, "w", {1}).counted);
  job.kill(0);
  const auto step = worker.ps->step();
  REQUIRE_FALSE(step);
  CHECK(step.error().code == Errc::peer_lost);
  CHECK(step.error().message ==
        "the parameter server ps:0 on store0 died: killed by SIGKILL; ps:1 on store1, which had "
        "the other copy of its variables, had died before");
  CHECK_FALSE(worker.ps->step());
}

TEST_CASE("checkpoints of a part are made and loaded by the server that has taken over") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  PsJob job({.workers = 1, .servers = 2, .server = two_copies});
  const PsJob::Worker worker = job.join(0);
  declare(*worker.ps, {"w", {1}});
  declare(*worker.ps, {"v", {2}});
  must(worker.ps->save(path));
  push(*worker.ps, "w", {1});
  push(*worker.ps, "v", {1});
  job.kill(0);
  CHECK(must(worker.ps->load(path)) == 0);
  CHECK(pull(*worker.ps, "w", 1) == std::vector<float>{1});
  push(*worker.ps, "w", {5});
  must(worker.ps->save(path + "2"));
  CHECK(checkpoint_steps(path, {0, 2}).empty());
  CHECK(read_checkpoint(path + "2.ps-0-of-2", 1000));
}

TEST_CASE("a server's last checkpoint has the parts that it has taken over") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  PsJob job({.workers = 1, .servers = 2, .server = {.copies = 2, .checkpoint = path}});
  {
    const PsJob::Worker worker = job.join(0);
    declare(*worker.ps, {"w", {1}});
    push(*worker.ps, "w", {1});
    job.kill(0);
    push(*worker.ps, "w", {1});
  }
  job.rendezvous().notify({Notice::Kind::left, {"worker", 0}, ""});
  CHECK(job.outcome(1).empty());
  CHECK(checkpoint_steps(path, {0, 2}).front() == 2);
}

TEST_CASE("a worker that expects another number of copies is refused by name") {
  PsJob job({.workers = 1, .servers = 2, .server = two_copies});
  const auto connected =
      PsClient::connect(job.view(0), {.links = {.claim = job.claim({"worker", 0})}}, soon());
  REQUIRE_FALSE(connected);
  CHECK(connected.error().code == Errc::mismatch);
  CHECK(connected.error().message ==
        "worker:0 on node0 expects 1 copies of each variable, but the servers keep 2; "
        "--ps-replicas gives all tasks the same number");
}

TEST_CASE("two copies need two servers, which live when they start") {
  {
    PsJob job({.workers = 1, .servers = 1, .server = two_copies});
    CHECK(job.outcome(0) ==
          "2 copies of each variable need as many parameter servers; the job has 1");
  }
  RendezvousFixture rendezvous(table_with_servers(1, 2));
  const auto client = rendezvous.join({"ps", 0});
  rendezvous.notify({Notice::Kind::dead, {"ps", 1}, "exit status 3"});
  const auto server =
      PsServer::start(*client, {.claim = rendezvous.claim({"ps", 0}), .copies = 2}, soon());
  REQUIRE_FALSE(server);
  CHECK(server.error().message ==
        "ps:1 on store1 died: exit status 3 before it kept copies of this server's variables");
}

TEST_CASE("a server ends when the connection to its replica breaks and no death is reported") {
  PsJob job({.workers = 1, .servers = 2, .server = {.dead_after = milliseconds(50), .copies = 2}});
  const PsJob::Worker worker = job.join(0);
  job.stop(1);
  CHECK(
      job.outcome(0).starts_with("the connection to ps:1 on store1, which has copies of this "
                                 "server's variables, is broken: "));
}

}  // namespace
}  // namespace dt
