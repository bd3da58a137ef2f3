#include "comm/training/strategy/replica_reducer.h"

#include "tests/unit/comm/training/strategy/strategies.h"

#include <array>
#include <cstdlib>
#include <mutex>
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
struct FakeNccl {
  explicit FakeNccl(const char* words) { setenv("FAKE_NCCL", words, 1); }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;
  ~FakeNccl() { unsetenv("FAKE_NCCL"); }
  TestedStrategy strategy = {.name = "multi_worker_mirrored",
                             .request = {.communication = "nccl"},
                             .more = {{"DTRAIN_NCCL_LIB", FAKE_NCCL}}};
};

TEST_CASE("workers reduce by NCCL what it has, and the rest by the engine") {
  const FakeNccl fake("");
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, fake.strategy);
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
  }));
}

TEST_CASE("a failure of NCCL at one worker ends the strategy of all, with its text") {
  const FakeNccl fake("fail=ncclAllReduce:2");
  World world({.size = 3});
  int failed = 0;
  std::mutex mutex;
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, fake.strategy);
    const std::string text = error_text([&] {
      strategy.run([&](dtrain::Replica& replica) {
        std::array<double, 1> value = {1};
        while (true)
          replica.all_reduce(value);
      });
    });
    CHECK_MESSAGE(contains(text, "ncclAllReduce: internal error"), text);
    const std::lock_guard lock(mutex);
    if (!contains(text, "rank ")) ++failed;
  }));
  CHECK(failed == 1);
}

TEST_CASE("calls that differ between workers are named before NCCL begins") {
  const FakeNccl fake("");
  World world({.size = 2});
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, fake.strategy);
    const std::string text = error_text([&] {
      strategy.run([&](dtrain::Replica& replica) {
        std::vector<double> values(all.rank() == 0 ? 2 : 3);
        replica.all_reduce(values);
      });
    });
    CHECK_MESSAGE(contains(text,
                           "rank 1 has an operation 0 by NCCL of 3x type 10, but rank 0 an "
                           "operation 0 by NCCL of 2x type 10"),
                  text);
  }));
}

TEST_CASE("a worker that cannot load NCCL, or whose NCCL has no driver, is named at all workers") {
  {
    const FakeNccl fake("");
    World world({.size = 2});
    for (const RankOutcome& outcome : world.run([&](dtrain::Context& all) {
           TestedStrategy strategy = fake.strategy;
           if (all.rank() == 1) strategy.more["DTRAIN_NCCL_LIB"] = "/no/such/libnccl.so.2";
           make_strategy(all, strategy);
         })) {
      CHECK(outcome.rank == 1);
      CHECK_MESSAGE(contains(outcome.text, "cannot load NCCL by DTRAIN_NCCL_LIB: /no/such"),
                    outcome.text);
    }
  }
  const FakeNccl fake("no_driver");
  World world({.size = 2});
  for (const RankOutcome& outcome :
       world.run([&](dtrain::Context& all) { make_strategy(all, fake.strategy); })) {
    CHECK_MESSAGE(contains(outcome.text,
                           "ncclCommInitRankConfig: unhandled cuda error (CUDA "
                           "driver version is insufficient)"),
                  outcome.text);
  }
}

TEST_CASE("a call of NCCL that hangs ends at the time limit of the strategy") {
  FakeNccl fake("hang=ncclAllReduce");
  fake.strategy.request.timeout_ms = 300;
  World world({.size = 2});
  check_all_well(world.run([&](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, fake.strategy);
    const std::string text = error_text([&] {
      strategy.run([](dtrain::Replica& replica) {
        std::array<double, 1> value = {1};
        replica.all_reduce(value);
      });
    });
    CHECK_MESSAGE(contains(text, "ncclAllReduce: NCCL has not completed it in time"), text);
  }));
}

}  // namespace
}  // namespace dt
