#include "comm/training/ps/last_checkpoint.h"

#include "rendezvous/cluster/last_checkpoint.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <string>

namespace dt {
namespace {

/// A part of one worker that has done a step.
ServedPart part_of(const std::string& checkpoint) {
  ServedPart part(PartCopy({.workers = {{.id = {"worker", 0}, .host = "a", .takes_part = true}}},
                           PartCopy::Role::head),
                  {.checkpoint = checkpoint});
  const DeclaredWhole one(0, plain_variable("w", {1}), {5});
  const Bytes gradient = bytes_of<float>({1});
  const PushRequest push{.gradients = {{.shard = 0, .values = gradient}}};
  uint32_t number = 0;
  for (const PsRequest& request : {PsRequest(one.request), PsRequest(push)}) {
    const auto body = std::make_shared<const Bytes>(encode(request));
    part.copy().take(PsIncoming{0, ++number, body, *body});
  }
  return part;
}

TEST_CASE("the job knows of a last checkpoint until it is written") {
  const TemporaryFolder folder;
  RendezvousFixture rendezvous(table_with_servers(1, 1));
  const auto client = rendezvous.join({"ps", 0});
  const std::string key = last_checkpoint_key({"ps", 0});
  ServedPart part = part_of(folder.path() + "/model");
  REQUIRE(announce_last_checkpoint(*client, soon()));
  CHECK(must(client->get(key, soon())) == to_bytes(checkpoint_awaited));
  REQUIRE(write_last_checkpoint(*client, {"ps", 0}, part));
  CHECK_FALSE(must(client->get(key, soon())));
  CHECK(checkpoint_steps(folder.path() + "/model", {}) == std::vector<uint64_t>{1});
}

TEST_CASE("the job knows of a last checkpoint that cannot be written") {
  const TemporaryFolder folder;
  RendezvousFixture rendezvous(table_with_servers(1, 1));
  const auto client = rendezvous.join({"ps", 0});
  ServedPart part = part_of(folder.path() + "/none/model");
  CHECK_FALSE(write_last_checkpoint(*client, {"ps", 0}, part));
  CHECK(must(client->get(last_checkpoint_key({"ps", 0}), soon())) ==
        to_bytes(checkpoint_being_written));
}

}  // namespace
}  // namespace dt
