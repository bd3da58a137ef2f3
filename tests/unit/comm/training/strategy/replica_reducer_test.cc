#include "comm/training/strategy/replica_reducer.h"

#include "tests/unit/comm/api/nccl_fixture.h"
#include "tests/unit/comm/training/strategy/strategies.h"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace dt {
namespace {

struct Reducing {
  Reducing() { REQUIRE(context != nullptr); }
  Reducing(const Reducing&) = delete;
  Reducing& operator=(const Reducing&) = delete;
  ~Reducing() {
    workers.reset();
    dtrain_finalize(context);
  }
  dtrain_context* context = dtrain_init(nullptr, nullptr);
  std::unique_ptr<Workers> workers = Workers::join(context, {.devices = 3}, 0).value();
  std::unique_ptr<ReplicaDevices> devices =
      ReplicaDevices::open({}, {{"DTRAIN_CPU_DEVICES", "3"}}).value();
  ReplicaReducer reducer{*devices, *workers, 0};
};

template <class T>
ReplicaTensor tensor_of(ElementType type, std::vector<T>& values) {
  return {type, values.size(), reinterpret_cast<std::byte*>(values.data())};
}

TEST_CASE("tensors of several types in memory of the host are reduced together") {
  Reducing one;
  std::array<std::vector<float>, 3> floats;
  std::array<std::vector<int>, 3> ints;
  std::array<std::vector<double>, 3> none;
  std::array<ReplicaTensors, 3> tensors;
  for (size_t i = 0; i < 3; ++i) {
    floats[i].assign(100, static_cast<float>(i));
    ints[i].assign(7, static_cast<int>(i));
    tensors[i] = {tensor_of(ElementType::float32, floats[i]),
                  tensor_of(ElementType::float64, none[i]), tensor_of(ElementType::int32, ints[i])};
  }
  REQUIRE(one.reducer.reduce({&tensors[0], &tensors[1], &tensors[2]}, ReduceOp::sum).has_value());
  for (size_t i = 0; i < 3; ++i) {
    CHECK(floats[i] == std::vector<float>(100, 3));
    CHECK(ints[i] == std::vector<int>(7, 3));
  }
}

TEST_CASE("a tensor that only one replica needs leaves those of the others as they are") {
  Reducing one;
  std::array<std::vector<float>, 3> floats;
  std::array<ReplicaTensors, 3> tensors;
  for (size_t i = 0; i < 3; ++i) {
    floats[i].assign(9, static_cast<float>(i));
    tensors[i] = {tensor_of(ElementType::float32, floats[i])};
    tensors[i][0].only = 1;
  }
  REQUIRE(
      one.reducer.reduce({&tensors[0], &tensors[1], &tensors[2]}, ReduceOp::average).has_value());
  CHECK(floats[0] == std::vector<float>(9, 0));
  CHECK(floats[1] == std::vector<float>(9, 1));
  CHECK(floats[2] == std::vector<float>(9, 2));
}

/// The world of the fake NCCL (tests/programs/fake_nccl.cc), and a strategy over it.
struct NcclStrategy : Variables {
  explicit NcclStrategy(const char* fake = "") : Variables("staged", fake) {}
  TestedStrategy tested = {.name = "multi_worker_mirrored",
                           .request = {.communication = "nccl"},
                           .more = {{"DTRAIN_NCCL_LIB", FAKE_NCCL}}};
};

bool uses_nccl(const dtrain::Strategy& strategy) {
  return dtrain_uses_nccl(dtrain_strategy_context(strategy.get())) == 1;
}

TEST_CASE("workers reduce memory of devices by libdtrain's call: by NCCL, or staged") {
  NcclStrategy nccl;
  for (const size_t bytes_per_pack : {0, 1, 1000000}) {
    CAPTURE(bytes_per_pack);
    nccl.tested.request.bytes_per_pack = bytes_per_pack;
    World world({.size = 3, .per_host = 2});
    check_all_well(world.run([&](dtrain::Context& all) {
      dtrain::Strategy strategy = make_strategy(all, nccl.tested);
      CHECK(uses_nccl(strategy));
      const auto own =
          strategy.zeros<float>("own", 1, {.synchronization = dtrain::Synchronization::on_read});
      for (int step = 0; step < 3; ++step) {
        strategy.run([&](dtrain::Replica& replica) {
          const auto i = static_cast<int>(replica.index());
          std::vector<float> floats(1000, static_cast<float>(i));
          std::vector<float> more(3, 1);
          replica.all_reduce_list(std::array{std::span(floats), std::span(more)});
          CHECK(floats == std::vector<float>(1000, 15));
          CHECK(more == std::vector<float>(3, 6));
          // NCCL has no such type.
          std::vector<int16_t> shorts(5, static_cast<int16_t>(i));
          replica.all_reduce(shorts, dtrain::Op::max);
          CHECK(shorts == std::vector<int16_t>(5, 5));
          std::vector<double> mean = {static_cast<double>(i)};
          replica.all_reduce(mean, dtrain::Op::average);
          CHECK(mean[0] == 2.5);
          replica.data(own)[0] = static_cast<float>(i + 1);
          replica.all_reduce(replica.data(own), dtrain::Op::product);
          CHECK(replica.data(own)[0] == 720);
        });
      }
      // The job's own calls are staged.
      CHECK(dtrain_uses_nccl(all.get()) == 0);
    }));
  }
}

TEST_CASE("without the communication nccl, NCCL runs no reduction of a strategy") {
  NcclStrategy nccl("fail=ncclAllReduce:1");
  for (const char* const communication : {"auto", "ring"}) {
    nccl.tested.request.communication = communication;
    World world({.size = 2});
    check_all_well(world.run([&](dtrain::Context& all) {
      dtrain::Strategy strategy = make_strategy(all, nccl.tested);
      strategy.run([](dtrain::Replica& replica) {
        std::array<double, 1> value = {1};
        replica.all_reduce(value);
        CHECK(value[0] == 4);
      });
      CHECK_FALSE(uses_nccl(strategy));
    }));
  }
}

/// Reduces until a call fails, and returns its text.
std::string failure_of(dtrain::Strategy& strategy) {
  return error_text([&] {
    strategy.run([](dtrain::Replica& replica) {
      std::array<double, 1> value = {1};
      while (true)
        replica.all_reduce(value);
    });
  });
}

TEST_CASE("a failure of NCCL at one worker ends the strategy of all, with its text") {
  const NcclStrategy nccl("fail=ncclAllReduce:8");
  World world({.size = 3});
  std::array<std::string, 3> texts;
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, nccl.tested);
    texts[static_cast<size_t>(all.rank())] = failure_of(strategy);
    CHECK(error_text([&] {
            strategy.run([](dtrain::Replica&) {});
          }).starts_with("the strategy has ended: "));
  }));
  for (const std::string& text : texts)
    CHECK_MESSAGE(contains(text, "ncclAllReduce: internal error"), text);
}

TEST_CASE("a step that fails on one worker ends the reductions by NCCL of the others") {
  const NcclStrategy nccl;
  World world({.size = 3});
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, nccl.tested);
    if (all.rank() == 1) {
      error_text([&] {
        strategy.run([](dtrain::Replica& replica) {
          if (replica.index() == 2) throw std::runtime_error("boom");
        });
      });
    } else {
      const std::string text = failure_of(strategy);
      CHECK_MESSAGE(contains(text, "rank 1: replica 2 (cpu:0): boom"), text);
    }
    // The job itself continues.
    std::vector<int> sum = {1};
    all.all_reduce(sum);
    CHECK(sum[0] == 3);
  }));
}

TEST_CASE("calls that differ between workers are named before NCCL begins") {
  const NcclStrategy nccl;
  World world({.size = 2});
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, nccl.tested);
    const std::string text = error_text([&] {
      strategy.run([&](dtrain::Replica& replica) {
        std::vector<double> values(all.rank() == 0 ? 2 : 3);
        replica.all_reduce(values);
      });
    });
    CHECK_MESSAGE(contains(text, "rank 1 sent float64[3], rank 0 float64[2]"), text);
  }));
}

TEST_CASE("a worker that cannot load NCCL, or whose NCCL has no driver, fails the strategy") {
  {
    const NcclStrategy nccl;
    World world({.size = 2});
    for (const RankOutcome& outcome : world.run([&](dtrain::Context& all) {
           TestedStrategy tested = nccl.tested;
           if (all.rank() == 1) tested.more["DTRAIN_NCCL_LIB"] = "/no/such/libnccl.so.2";
           make_strategy(all, tested);
         })) {
      CHECK(outcome.rank == 1);
      CHECK_MESSAGE(contains(outcome.text, "cannot load NCCL by DTRAIN_NCCL_LIB: /no/such"),
                    outcome.text);
    }
  }
  const NcclStrategy nccl("no_driver");
  World world({.size = 2});
  std::string texts;
  for (const RankOutcome& outcome :
       world.run([&](dtrain::Context& all) { make_strategy(all, nccl.tested); })) {
    CHECK_MESSAGE(outcome.text.starts_with("the communication nccl: "), outcome.text);
    texts += outcome.text;
  }
  CHECK_MESSAGE(
      contains(
          texts,
          "ncclCommInitRankConfig: unhandled cuda error (CUDA driver version is insufficient)"),
      texts);
}

TEST_CASE("a call of NCCL that hangs ends at the time limit of the strategy") {
  NcclStrategy nccl("hang=ncclAllReduce");
  nccl.tested.request.timeout_ms = 2000;
  World world({.size = 2});
  std::string texts;
  for (const RankOutcome& outcome :
       world.run([&](dtrain::Context& all) { make_strategy(all, nccl.tested); })) {
    CHECK(outcome.code != DTRAIN_OK);
    texts += outcome.text;
  }
  CHECK_MESSAGE(contains(texts, "NCCL has not ended it in time"), texts);
}

}  // namespace
}  // namespace dt
