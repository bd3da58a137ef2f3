// Generations of a job, each of which has a communicator of NCCL, in C. Devices of the CPU and a
// library of our own take the places of GPUs and NCCL.
#include "tests/unit/comm/api/nccl_fixture.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Sums by NCCL, and checks the result.
void check_sum_by_nccl(DeviceRank& rank) {
  const int size = dtrain_size(rank.context);
  rank.reach_nccl();
  CHECK_MESSAGE(rank.sum() == DTRAIN_OK, rank.error.text);
  CHECK(rank.result == std::vector<int32_t>(3, size * (size + 1) / 2));
}

/// The same at all ranks, with new contexts that end then.
void check_sums_by_nccl(World& world) {
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    check_sum_by_nccl(rank);
  }));
}

TEST_CASE("each generation connects its devices anew, with any number of ranks") {
  for (const char* const peer_bytes_max : {"0", "1M"}) {
    Variables variables("nccl");
    variables.set("DTRAIN_PEER_MAX", peer_bytes_max);
    World world({.size = 3, .per_host = 4});
    check_sums_by_nccl(world);
    uint32_t generation = 1;
    for (const int size : {2, 4, 3}) {
      world.begin_generation(table_of_workers(size, 4, ++generation));
      check_sums_by_nccl(world);
    }
  }
}

/// Two ranks, and a task without a rank, which observes the store.
TaskTable table_with_observer(uint32_t generation) {
  TaskTable table = table_of_workers(2, 2, generation);
  table.tasks.push_back({.id = {"observer", 0}, .host = "node0", .addresses = {"127.0.0.1"}});
  return table;
}

/// Returns the keys that the ranks set in the store to sum by NCCL.
std::map<std::string, Bytes> keys_of_sums(World& world) {
  const auto observer = world.server().join({"observer", 0});
  std::map<std::string, Bytes> keys;
  check_all_well(world.run([&](dtrain::Context& context) {
    DeviceRank rank(context);
    check_sum_by_nccl(rank);
    context.barrier();  // the keys end with the contexts
    if (context.rank() == 0) {
      const Reply reply = ask(*observer, CollectRequest{"nccl/", 0, {}});
      for (const StoreEntry& entry : must(decode_entries(reply.value.value())))
        keys[entry.key] = entry.value;
    }
    context.barrier();
  }));
  return keys;
}

TEST_CASE("NCCL's keys of another generation have no effect, and are not changed") {
  const Variables variables("nccl");
  World world({.size = 2, .per_host = 2});
  world.begin_generation(table_with_observer(2));
  const std::map<std::string, Bytes> keys = keys_of_sums(world);
  REQUIRE(!keys.empty());
  world.begin_generation(table_with_observer(3));
  const auto observer = world.server().join({"observer", 0});
  for (const auto& [key, value] : keys)
    REQUIRE(observer->set(key, value, soon()).has_value());
  check_sums_by_nccl(world);
  for (const auto& [key, value] : keys)
    CHECK_MESSAGE(observer->get(key, soon()) == value, key);
}

/// A rank whose context lives until the end of a test.
struct LastingRank {
  explicit LastingRank(const dtrain::InitOptions& options) : context(dtrain::init(options)) {}
  dtrain::Context context;
  DeviceRank device{context};
};

std::vector<std::unique_ptr<LastingRank>> lasting_ranks(World& world) {
  std::vector<std::unique_ptr<LastingRank>> ranks(
      static_cast<size_t>(world.server().table().world_size()));
  check_all_well(world.on_threads([&](int rank) {
    ranks[static_cast<size_t>(rank)] = std::make_unique<LastingRank>(world.init_options(rank));
  }));
  return ranks;
}

void check_launcher_lost(const AsyncSum& sum) {
  dtrain_error error = new_error();
  CHECK(dtrain_work_wait(sum.work, -1, &error) == DTRAIN_ERROR_PEER_LOST);
  CHECK_MESSAGE(contains(error.text, "launcher"), error.text);
}

TEST_CASE("calls of the generation before fail, and those of the next are not affected") {
  const Variables variables("nccl");
  World world({.size = 3, .per_host = 2});
  const auto old = lasting_ranks(world);
  check_all_well(world.on_threads(
      [&](int rank) { check_sum_by_nccl(old[static_cast<size_t>(rank)]->device); }));
  // It waits for the others.
  const AsyncSum under_way(old[2]->device, "");
  world.begin_generation(table_of_workers(2, 2, 2));
  check_all_well(world.run([&](dtrain::Context& context) {
    DeviceRank rank(context);
    check_sum_by_nccl(rank);
    LastingRank& before = *old[static_cast<size_t>(context.rank())];
    const std::string text = before.device.first_failure();
    CHECK_MESSAGE(contains(text, "launcher"), text);
    CHECK(before.device.sum() == DTRAIN_ERROR_PEER_LOST);
    check_sum_by_nccl(rank);
    before.context.finalize();
    check_sum_by_nccl(rank);
  }));
  check_launcher_lost(under_way);
}

TEST_CASE("a connection of devices that is not decided yet ends with its generation") {
  const Variables variables("nccl");
  World world({.size = 2, .per_host = 2});
  const auto old = lasting_ranks(world);
  // Rank 1 has no such call, so rank 0 waits for it in the store. It asks for a key before.
  const uint64_t requests = world.server().counters().requests;
  const AsyncSum under_way(old[0]->device, "");
  world.server().until([&](const auto& counters) { return counters.requests >= requests + 2; });
  world.begin_generation(table_of_workers(2, 2, 2));
  check_sums_by_nccl(world);
  check_launcher_lost(under_way);
  CHECK(old[1]->device.sum() == DTRAIN_ERROR_PEER_LOST);
}

}  // namespace
}  // namespace dt
