// Calls by name and lists on memory of devices that NCCL runs, in C.
#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/nccl_fixture.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Sums by a name until NCCL does so. From then on, it runs all calls by name.
void reach_nccl_by_name(DeviceRank& rank) {
  while (dtrain_uses_nccl(rank.context) == 0)
    AsyncSum(rank, "first").check(dtrain_size(rank.context) * (dtrain_size(rank.context) + 1) / 2);
}

TEST_CASE("NCCL executes calls by name in any order, between those without one") {
  const Variables variables("nccl");
  constexpr int size = 3;
  constexpr int calls = 8;
  World world({.size = size, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    reach_nccl_by_name(rank);
    for (int round = 0; round < 30; ++round) {
      std::vector<std::unique_ptr<AsyncSum>> sums;
      for (int i = 0; i < calls; ++i) {
        // Each rank begins with another name.
        const int call = (i + context.rank() * 3) % calls;
        const size_t count = call == 5 ? 100'000 : static_cast<size_t>(call + 1);
        sums.push_back(std::make_unique<AsyncSum>(rank, "layer " + std::to_string(call), count));
        // In one order on all ranks, also on the stream.
        const bool unnamed = (i + context.rank()) % 2 == 0;
        if (unnamed) sums.push_back(std::make_unique<AsyncSum>(rank, "", 3, i / 2 % 2 == 0));
      }
      for (const auto& sum : sums)
        sum->check(6);
    }
  }));
}

/// The sum of a list of small tensors, without a name. Returns the status.
int sum_list(DeviceRank& rank, std::vector<int32_t>& sums) {
  const DeviceBuffer memory = on_device(
      rank.cpu.stream(0), std::vector<int32_t>(sums.size(), dtrain_rank(rank.context) + 1));
  std::vector<dtrain_buffers> tensors;
  for (size_t i = 0; i < sums.size(); ++i)
    tensors.push_back({nullptr, memory.at() + i * sizeof(int32_t), 1, DTRAIN_INT32});
  const dtrain_tensor_list list = {sizeof list, tensors.data(), tensors.size(), nullptr, nullptr};
  rank.error = new_error();
  const int status = dtrain_all_reduce_list(rank.context, &list, DTRAIN_SUM, nullptr, &rank.error);
  sums = values_of<int32_t>(rank.cpu.stream(0), memory, sums.size());
  return status;
}

TEST_CASE("the tensors of a list are one call of NCCL") {
  // The ranks are threads of one process, whose calls count together.
  const Variables variables("nccl", "fail=ncclAllReduce:21");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    int lists = 0;
    int status = DTRAIN_OK;
    for (; status == DTRAIN_OK; ++lists) {
      std::vector<int32_t> sums(50);
      const bool by_nccl = dtrain_uses_nccl(context.get()) == 1;
      if (!by_nccl) lists = 0;
      status = sum_list(rank, sums);
      if (status == DTRAIN_OK) CHECK(sums == std::vector<int32_t>(50, 3));
    }
    // Without fusion, the first one would fail.
    CHECK(lists >= 10);
  }));
}

TEST_CASE("calls by name that differ are a mismatch, and a name is free again behind its call") {
  const Variables variables("nccl");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    const dtrain_op_options named = options_named("loss");
    reach_nccl_by_name(rank);
    CHECK(rank.sum(&named, 0, context.rank() == 1 ? 4 : 3) == DTRAIN_ERROR_MISMATCH);
    const std::string text = rank.error.text;
    CHECK_MESSAGE(text.starts_with("all_reduce \"loss\": rank 1 sent int32[4]"), text);
    CHECK(rank.sum(&named) == DTRAIN_OK);
    CHECK(rank.result == std::vector<int32_t>{3, 3, 3});
    {
      // The second call waits until NCCL has the first.
      const AsyncSum first(rank, "twice");
      const AsyncSum second(rank, "twice");
      first.check(3);
      second.check(3);
    }
    CHECK(rank.sum() == DTRAIN_OK);
  }));
}

TEST_CASE("a rank that leaves while NCCL executes a call by name ends it at the others") {
  const Variables variables("nccl", "hang=ncclAllReduce");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    dtrain_error error = new_error();
    while (true) {
      const AsyncSum sum(rank, "loss");
      int status = DTRAIN_PENDING;
      while (status == DTRAIN_PENDING && dtrain_uses_nccl(context.get()) == 0)
        status = dtrain_work_wait(sum.work, 1, &error);
      if (status == DTRAIN_OK) continue;
      if (context.rank() == 0) {
        context.finalize();
        CHECK(dtrain_work_wait(sum.work, -1, &error) == DTRAIN_ERROR_CLOSED);
      } else {
        CHECK(dtrain_work_wait(sum.work, -1, &error) == DTRAIN_ERROR_PEER_LOST);
        CHECK_MESSAGE(contains(error.text, "rank 0 (host node0) has left the job"), error.text);
      }
      return;
    }
  }));
}

/// A sum of three floats by name, in place, scaled before and after. So it is packed and unpacked
/// even where it is not fused. Without a sum, the unpacked numbers differ from those before.
struct ScaledSum {
  ScaledSum(DeviceRank& rank, const char* name)
      : stream(rank.cpu.stream(0)),
        before(3, static_cast<float>(dtrain_rank(rank.context) + 1)),
        memory(on_device(stream, before)) {
    dtrain_op_options options = options_named(name);
    options.prescale = options.postscale = 2;
    const dtrain_buffers buffers = {nullptr, memory.at(), before.size(), DTRAIN_FLOAT32};
    work = dtrain_all_reduce_async(rank.context, buffers, DTRAIN_SUM, &options, nullptr);
  }
  ScaledSum(const ScaledSum&) = delete;
  ScaledSum& operator=(const ScaledSum&) = delete;
  ~ScaledSum() { dtrain_work_free(work); }

  DeviceStream& stream;
  std::vector<float> before;
  DeviceBuffer memory;
  dtrain_work* work;
};

TEST_CASE("a rank that leaves behind the pack leaves the others' buffers as they were") {
  const Variables variables("nccl", "hang=ncclAllReduce");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    dtrain_error error = new_error();
    while (true) {
      const ScaledSum sums[] = {{rank, "weights"}, {rank, "bias"}};
      const auto is_staged = [&](const ScaledSum& sum) {
        int status = DTRAIN_PENDING;
        while (status == DTRAIN_PENDING && dtrain_uses_nccl(context.get()) == 0)
          status = dtrain_work_wait(sum.work, 1, &error);
        return status == DTRAIN_OK;
      };
      if (is_staged(sums[0]) && is_staged(sums[1])) continue;
      if (context.rank() == 0) context.finalize();
      for (const ScaledSum& sum : sums) {
        if (dtrain_work_wait(sum.work, -1, &error) == DTRAIN_OK) continue;  // it was staged
        CHECK(values_of<float>(sum.stream, sum.memory, sum.before.size()) == sum.before);
      }
      return;
    }
  }));
}

TEST_CASE("after a time limit of a call by name, NCCL ends those by name that are under way") {
  const Variables variables("nccl", "hang=ncclAllReduce");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    std::unique_ptr<AsyncSum> endless;
    while (dtrain_uses_nccl(context.get()) == 0) {
      endless = std::make_unique<AsyncSum>(rank, "endless");
      while (dtrain_work_wait(endless->work, 1, nullptr) == DTRAIN_PENDING)
        if (dtrain_uses_nccl(context.get()) == 1) break;
    }
    if (context.rank() == 0) {
      std::vector<int32_t> values(3);
      const dtrain_buffers buffers = {nullptr, values.data(), 3, DTRAIN_INT32};
      dtrain_op_options alone = options_named("alone");
      alone.timeout_ms = 100;
      CHECK(dtrain_all_reduce(context.get(), buffers, DTRAIN_SUM, &alone, nullptr) ==
            DTRAIN_ERROR_TIMEOUT);
    }
    dtrain_error error = new_error();
    CHECK(dtrain_work_wait(endless->work, -1, &error) == DTRAIN_ERROR_TIMEOUT);
    CHECK_MESSAGE(contains(error.text, "\"alone\" timed out"), error.text);
    // Calls without slots are not affected.
    context.barrier();
  }));
}

TEST_CASE("ranks that begin calls at different times stage the same ones") {
  const Variables variables("auto", "no_driver");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    for (int round = 0; round < 200; ++round) {
      const AsyncSum first(rank, "");
      if (context.rank() == 1) first.check(3);
      const AsyncSum second(rank, "");
      if (context.rank() == 0) first.check(3);
      second.check(3);
    }
  }));
}

TEST_CASE("calls without a name go on while a rank has joined") {
  const Variables variables("nccl");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    reach_nccl_by_name(rank);
    std::optional<dtrain::Work> joined;
    if (context.rank() == 0) joined = context.join_async();
    for (int i = 0; i < 3; ++i) {
      CHECK_MESSAGE(rank.sum() == DTRAIN_OK, rank.error.text);
      CHECK(rank.result == std::vector<int32_t>{3, 3, 3});
    }
    if (context.rank() == 1) joined = context.join_async();
    joined->wait();
  }));
}

TEST_CASE("lists in memory of the host and of a device are a mismatch") {
  const Variables variables("nccl");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    std::vector<int32_t> sums(2);
    if (context.rank() == 0) {
      CHECK(sum_list(rank, sums) == DTRAIN_ERROR_MISMATCH);
    } else {
      const dtrain_buffers tensors[] = {{nullptr, sums.data(), 1, DTRAIN_INT32},
                                        {nullptr, sums.data() + 1, 1, DTRAIN_INT32}};
      const dtrain_tensor_list list = {sizeof list, tensors, 2, nullptr, nullptr};
      CHECK(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, nullptr, &rank.error) ==
            DTRAIN_ERROR_MISMATCH);
    }
    CHECK_MESSAGE(contains(rank.error.text, "memory of the device that NCCL connects"),
                  rank.error.text);
    // The next list is run.
    for (int i = 0; i < 2; ++i) {
      CHECK(sum_list(rank, sums) == DTRAIN_OK);
      CHECK(sums == std::vector<int32_t>{3, 3});
    }
  }));
}

TEST_CASE("a rank that joins makes the others stage their calls by name") {
  const Variables variables("auto");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    const dtrain_op_options named = options_named("loss");
    reach_nccl_by_name(rank);
    if (context.rank() == 0) {
      CHECK(rank.sum(&named) == DTRAIN_OK);
      CHECK(rank.result == std::vector<int32_t>{1, 1, 1});
    }
    CHECK(context.join() == 0);
    CHECK(rank.sum(&named) == DTRAIN_OK);
    CHECK(rank.result == std::vector<int32_t>{3, 3, 3});
  }));
}

TEST_CASE("ranks join while calls by name are under way that only they make") {
  const Variables variables("auto");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    reach_nccl_by_name(rank);
    for (int round = 0; round < 20; ++round) {
      const std::string own = "of rank " + std::to_string(context.rank());
      const AsyncSum both(rank, "of both");
      const AsyncSum sum(rank, own);
      dtrain::Work joined = context.join_async();
      joined.wait();
      both.check(3);
      sum.check(context.rank() + 1);
    }
  }));
}

}  // namespace
}  // namespace dt
