// Groups of a job whose collectives NCCL runs. Devices of the CPU and a library of our own take the
// places of GPUs and NCCL.
#include "comm/api/api_support.h"
#include "tests/unit/comm/api/nccl_fixture.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("a group that requires NCCL connects its ranks, and those of others are staged") {
  const Variables variables("staged");
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const bool even = context.rank() % 2 == 0;
    std::optional<dtrain::Context> half = context.split(even ? 0 : 1);
    DeviceRank of_group(*half);
    if (even) {
      half->get()->context->require_nccl("even");
      of_group.reach_nccl();
    }
    for (int i = 0; i < 5; ++i) {
      CHECK(of_group.sum() == DTRAIN_OK);
      CHECK(of_group.result == std::vector<int32_t>(3, 3));
    }
    CHECK((dtrain_uses_nccl(half->get()) == 1) == even);
    DeviceRank of_job(context);
    CHECK(of_job.sum() == DTRAIN_OK);
    CHECK(of_job.result == std::vector<int32_t>(3, 10));
    CHECK(dtrain_uses_nccl(context.get()) == 0);
  }));
}

TEST_CASE("a group and its job can both use NCCL, and each fails by itself without it") {
  {
    const Variables variables("nccl");
    World world({.size = 2, .per_host = 2});
    check_all_well(world.run([](dtrain::Context& context) {
      std::optional<dtrain::Context> group = context.split(0);
      group->get()->context->require_nccl("both");
      DeviceRank of_job(context);
      DeviceRank of_group(*group);
      of_job.reach_nccl();
      of_group.reach_nccl();
      for (DeviceRank* const rank : {&of_group, &of_job, &of_group}) {
        CHECK(rank->sum() == DTRAIN_OK);
        CHECK(rank->result == std::vector<int32_t>(3, 3));
      }
    }));
  }
  const Variables variables("auto", "no_driver");
  World world({.size = 2, .per_host = 2});
  std::vector<std::string> texts(2);
  check_all_well(world.run([&](dtrain::Context& context) {
    std::optional<dtrain::Context> group = context.split(0);
    group->get()->context->require_nccl("both");
    DeviceRank of_group(*group);
    texts[static_cast<size_t>(context.rank())] = of_group.first_failure();
    DeviceRank of_job(context);
    CHECK(of_job.sum() == DTRAIN_OK);
  }));
  const std::string both = texts[0] + texts[1];
  CHECK_MESSAGE(contains(both, "ncclCommInitRankConfig: unhandled cuda error"), both);
}

TEST_CASE("a rank that leaves its group ends the group's calls of NCCL, and the job continues") {
  const Variables variables("staged", "hang=ncclAllReduce");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::optional<dtrain::Context> group = context.split(0);
    group->get()->context->require_nccl("hangs");
    const CpuDevices cpu({});
    const DeviceBuffer memory = on_device(cpu.stream(0), std::vector<int32_t>(3));
    dtrain_work* const work = begin_endless_sum(group->get(), memory);
    dtrain_error error = new_error();
    if (context.rank() == 0) {
      group->finalize();
      CHECK(dtrain_work_wait(work, -1, &error) == DTRAIN_ERROR_CLOSED);
    } else {
      CHECK(dtrain_work_wait(work, -1, &error) == DTRAIN_ERROR_PEER_LOST);
      CHECK_MESSAGE(contains(error.text, "rank 0 (host node0) has finalized the group"),
                    error.text);
      CHECK(error.rank == 0);
    }
    dtrain_work_free(work);
    DeviceRank of_job(context);
    CHECK(of_job.sum() == DTRAIN_OK);
  }));
}

}  // namespace
}  // namespace dt
