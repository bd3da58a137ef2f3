#include "comm/peer/task_dial.h"

#include "comm/peer/server_dial.h"
#include "tests/unit/comm/training/ps/ps_job.h"

namespace dt {
namespace {

TaskDial dial_of(const PsJob& job, const TaskEntry& peer) {
  return {.claim = job.claim({"worker", 0}),
          .peer = peer,
          .key = ps_endpoint_key(peer.id),
          .absent = describe_task(peer) + " is absent",
          .message_bytes_max = 1000,
          .check = [] { return Result<>(); }};
}

TEST_CASE("a task dials another one by its published endpoint") {
  PsJob job({.workers = 1});
  const auto view = job.view(0);
  const TaskEntry* const server = view->table().find({"ps", 0});
  REQUIRE(server != nullptr);
  CHECK(describe_task(*server) == "ps:0 on store0");
  const auto connection = must(dial_task(*view, dial_of(job, *server), soon()));
  CHECK(connection->fd() >= 0);
}

TEST_CASE("a peer that publishes nothing is named, and a failed check ends the wait") {
  PsJob job({.workers = 2});
  const auto view = job.view(0);
  const TaskEntry* const worker = view->table().find({"worker", 1});
  REQUIRE(worker != nullptr);
  TaskDial dial = dial_of(job, *worker);
  const auto late = dial_task(*view, dial, Clock::now());
  REQUIRE_FALSE(late);
  CHECK(late.error() == Error{Errc::timeout, "worker:1 on node1 is absent"});
  dial.check = [] { return Result<>(fail(Errc::peer_lost, "worker:1 died")); };
  const auto ended = dial_task(*view, dial, soon());
  REQUIRE_FALSE(ended);
  CHECK(ended.error().message == "worker:1 died");
}

TEST_CASE("a refusal is final") {
  PsJob job({.workers = 1});
  const auto view = job.view(0);
  const TaskEntry* const server = view->table().find({"ps", 0});
  REQUIRE(server != nullptr);
  TaskDial dial = dial_of(job, *server);
  dial.claim.self = {"worker", 7};
  const auto refused = dial_task(*view, dial, soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::refused);
  CHECK(refused.error().message.find("cannot connect to ps:0 on store0") == 0);
}

}  // namespace
}  // namespace dt
