#include "launcher/job/last_checkpoints.h"

#include "rendezvous/cluster/last_checkpoint.h"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

JobRecord record_of_a_server() {
  Plan plan;
  plan.hosts.push_back({.host = {.name = "a", .user = {}, .slots = 1}});
  plan.add({.id = {"worker", 0}, .rank = 0, .agent = 0});
  plan.add({.id = {"ps", 0}, .rank = -1, .agent = 0});
  JobRecord record;
  record.planned(plan, "job");
  record.tasks[1].exit = ExitStatus{.signal = SIGKILL};
  record.tasks[1].completed = true;
  return record;
}

TEST_CASE("a missing last checkpoint is a failure of a job that ended well") {
  TaskTable table = table_of_workers(1);
  table.tasks.push_back({.id = {"ps", 0}, .agent = 0, .host = "a"});
  RendezvousFixture rendezvous(table);
  JobRecord record = record_of_a_server();
  Outcome outcome;
  bool writes = true;
  const auto look = [&] {
    rendezvous.on_server([&](const RendezvousServer& server) {
      writes = any_writes_checkpoint(server, record.plan);
      count_missing_checkpoints(server, record, outcome);
    });
  };
  look();
  CHECK(outcome == Outcome());
  CHECK_FALSE(writes);
  const auto client = rendezvous.join({"ps", 0});
  must(client->set(last_checkpoint_key({"ps", 0}), as_bytes(checkpoint_being_written), soon()));
  outcome = {.exit_status = 130};
  look();
  CHECK(outcome == Outcome{.exit_status = 130});
  CHECK(record.tasks[1].completed);
  outcome = {};
  look();
  CHECK(writes);
  CHECK(outcome ==
        Outcome{.exit_status = 1,
                .reason = "the last checkpoint of ps:0 (host a) is missing: killed by SIGKILL",
                .failed_tasks = 1});
  CHECK_FALSE(record.tasks[1].completed);
}

}  // namespace
}  // namespace dt
