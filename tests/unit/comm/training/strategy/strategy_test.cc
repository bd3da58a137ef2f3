#include "comm/training/strategy/strategy.h"

#include "comm/include/dtrain/dtrain_algorithm.h"
#include "tests/unit/comm/training/strategy/strategies.h"

#include <array>
#include <numeric>
#include <vector>

namespace dt {
namespace {

using dtrain::Aggregation;
using dtrain::Gradient;
using dtrain::Op;
using dtrain::Replica;
using dtrain::Synchronization;
using dtrain::Variable;

const std::vector<double> ones = {1, 1, 1};

/// Makes one step of w -= sum of gradients, of which replica i gives i + 1.
std::vector<double> one_step(dtrain::Strategy& strategy) {
  const auto w = strategy.variable<double>("w", std::span<const double>(ones));
  strategy.run([&](Replica& replica) {
    std::vector<double> gradient(3, static_cast<double>(replica.index() + 1));
    replica.apply<double>({{w, gradient}}, Op::sum, [](auto, auto value, auto reduced) {
      for (size_t i = 0; i < value.size(); ++i)
        value[i] -= reduced[i];
    });
  });
  return w.read();
}

TEST_CASE("one step has one result under every strategy of one process") {
  struct Case {
    const char* name;
    int devices;
    double result;
  };
  for (const Case& test :
       {Case{"one_device", 3, 0.0}, Case{"mirrored", 1, 0.0}, Case{"mirrored", 3, -5.0},
        Case{"central_storage", 1, 0.0}, Case{"central_storage", 3, -5.0},
        Case{"multi_worker_mirrored", 2, -2.0}}) {
    CAPTURE(test.name);
    CAPTURE(test.devices);
    OneProcess one({.name = test.name, .devices = test.devices});
    CHECK(one.strategy.name() == test.name);
    CHECK(one_step(one.strategy) == std::vector<double>(3, test.result));
  }
}

TEST_CASE("the devices cpu are all of the CPU, or the first one") {
  for (const char* const devices : {"cpu", "CPU", " cpu ", "/cpu", "/device:CPU"}) {
    CAPTURE(devices);
    const OneProcess mirrored({.devices = 3, .request = {.devices = devices}});
    CHECK(mirrored.strategy.local_replicas() == 3);
  }
  const OneProcess one({.name = "one_device", .devices = 3, .request = {.devices = "cpu"}});
  CHECK(one.strategy.device(0) == "cpu:0");
}

TEST_CASE("values of bool are reduced and read") {
  OneProcess one({.devices = 3});
  for (const bool flag : {false, true}) {
    const auto last =
        one.strategy.run([&](Replica& replica) { return flag && replica.index() == 2; });
    CHECK(one.strategy.reduce(Op::max, last) == flag);
    CHECK(one.strategy.reduce(Op::min, last) == false);
  }
  const std::array initial = {true, false, true};
  const auto flags = one.strategy.variable<bool>("flags", std::span<const bool>(initial));
  CHECK(flags.read() == std::vector<bool>{true, false, true});
}

TEST_CASE("a placed variable has the result of others, and is updated on its device alone") {
  for (const char* const device : {"cpu:2", "/job:worker/task:0/cpu:1", "cpu", "/cpu "}) {
    CAPTURE(device);
    OneProcess one({.devices = 3});
    const auto w =
        one.strategy.variable<double>("w", std::span<const double>(ones), {.device = device});
    const auto mirrored = one.strategy.zeros<double>("m", 1);
    const auto updates = one.strategy.run([&](Replica& replica) {
      std::vector<double> gradient(3, static_cast<double>(replica.index() + 1));
      std::vector<double> other = {1};
      int count = 0;
      replica.apply<double>({{w, gradient}, {mirrored, other}}, Op::sum,
                            [&](size_t i, auto value, auto reduced) {
                              value[0] -= reduced[0];
                              if (i == 0) ++count;
                            });
      CHECK(replica.data(w)[0] == -5);
      CHECK(replica.data(mirrored)[0] == -3);
      return count;
    });
    CHECK(one.strategy.reduce(Op::sum, updates) == 1);
    CHECK(w.read() == std::vector<double>{-5, 1, 1});
    w.write(ones);
    CHECK(w.read() == ones);
  }
}

TEST_CASE("placement names replicas, variables, and devices that the CPU replaces") {
  OneProcess one({.devices = 2, .request = {.devices = "/gpu:0,1", .soft_placement = true}});
  one.strategy.zeros<float>("w", 3);
  one.strategy.zeros<float>("v", 3, {.device = "1"});
  CHECK(one.strategy.placement() ==
        "/gpu:0 does not exist here: cpu:0 takes its place\n"
        "replica 0 is on cpu:0\nreplica 1 is on cpu:1\n"
        "variable w is on cpu:0, cpu:1\nvariable v is on cpu:1\n");
  CHECK(error_text([&] { one.strategy.zeros<float>("u", 3, {.device = "x:0"}); }).empty());
}

TEST_CASE("replicas have numbers, and devices in the order of their names") {
  OneProcess one({.devices = 4, .request = {.devices = "/cpu:2,0"}});
  CHECK(one.strategy.replicas() == 2);
  CHECK(one.strategy.local_replicas() == 2);
  CHECK(one.strategy.first_replica() == 0);
  CHECK(one.strategy.is_chief());
  CHECK(one.strategy.device(0) == "cpu:2");
  CHECK(one.strategy.device(1) == "cpu:0");
  CHECK(one.strategy.device(2).empty());
  const auto indices = one.strategy.run([](Replica& replica) {
    CHECK(replica.count() == 2);
    CHECK(replica.index() == replica.local_index());
    return replica.index();
  });
  CHECK(std::vector<size_t>(indices.begin(), indices.end()) == std::vector<size_t>{0, 1});
}

TEST_CASE("each cross-device operation gives the same sums, of any memory") {
  for (const char* const operation :
       {"ReductionToOneDevice", "ReductionToOneDevice:cpu:2", "ReductionToOneDevice:cpu",
        "HierarchicalCopyAllReduce:2", "AllReduce", "AllReduce:3", "NcclAllReduce",
        "NcclAllReduce:0", "reduction_to_one:64:hierarchical_copy:200:all_reduce",
        "all_reduce:64:nccl_all_reduce"}) {
    CAPTURE(operation);
    OneProcess one({.devices = 3,
                    .request = {.cross_device = operation},
                    .more = {{"DTRAIN_NCCL_LIB", FAKE_NCCL}}});
    const auto own =
        one.strategy.zeros<float>("own", 5, {.synchronization = Synchronization::on_read});
    one.strategy.run([&](Replica& replica) {
      std::vector<float> host(70, static_cast<float>(replica.index() + 1));
      std::span<float> device = replica.data(own);
      std::ranges::fill(device, static_cast<float>(replica.index()));
      const std::array<std::span<float>, 2> both = {host, device};
      replica.all_reduce_list(both);
      CHECK(host == std::vector<float>(70, 6));
      CHECK(std::ranges::count(device, 3.0F) == 5);
      std::array<int, 1> largest = {static_cast<int>(replica.index())};
      replica.all_reduce(largest, Op::max);
      CHECK(largest[0] == 2);
      std::array<double, 1> mean = {static_cast<double>(replica.index())};
      replica.all_reduce(mean, Op::average);
      CHECK(mean[0] == 1);
    });
  }
}

/// The world of the fake NCCL.
struct FakeNccl {
  explicit FakeNccl(const char* words) { setenv("FAKE_NCCL", words, 1); }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;
  ~FakeNccl() { unsetenv("FAKE_NCCL"); }
};

TEST_CASE("NcclAllReduce without GPUs, or with a NCCL that fails, is an error that says why") {
  const auto message = [](int devices, Environment more) {
    return error_text([&] {
      const OneProcess one({.devices = devices,
                            .request = {.cross_device = "NcclAllReduce"},
                            .more = std::move(more)});
    });
  };
  CHECK_MESSAGE(contains(message(2, {}),
                         "NcclAllReduce needs GPUs, and this process computes on "
                         "cpu:0; use AllReduce"),
                message(2, {}));
  CHECK(contains(message(2, {{"DTRAIN_NCCL_LIB", "/no/such/libnccl.so.2"}}),
                 "cannot load NCCL by DTRAIN_NCCL_LIB: /no/such"));
  // One device has no other one to reduce with.
  CHECK(message(1, {}).empty());
  const FakeNccl fake("no_driver");
  CHECK(contains(message(2, {{"DTRAIN_NCCL_LIB", FAKE_NCCL}}),
                 "NCCL cannot connect the 2 devices of this process: ncclCommInitRankConfig: "
                 "unhandled cuda error (CUDA driver version is insufficient)"));
}

TEST_CASE("a failure of NcclAllReduce has NCCL's text, and is final") {
  const FakeNccl fake("fail=ncclAllReduce:3");
  OneProcess one(
      {.request = {.cross_device = "NcclAllReduce"}, .more = {{"DTRAIN_NCCL_LIB", FAKE_NCCL}}});
  const auto reduce = [&] {
    one.strategy.run([&](Replica& replica) {
      std::array<float, 2> values = {1, 2};
      replica.all_reduce(values);
    });
  };
  reduce();
  const std::string text = error_text(reduce);
  CHECK_MESSAGE(contains(text, "ncclAllReduce: internal error"), text);
  CHECK(contains(error_text(reduce), "NCCL has failed before: ncclAllReduce: internal error"));
}

extern "C" int star_algorithm(const dtrain_algorithm_call* call, dtrain_steps* steps, void* user);

int star_on_replicas(const dtrain_algorithm_call* call, dtrain_steps* steps, void* user) {
  if (call->element_bytes > 4) return 7;
  return star_algorithm(call, steps, user);
}

TEST_CASE("a registered algorithm reduces between devices, from its size on") {
  OneProcess one({.devices = 3, .request = {.cross_device = "all_reduce:100:@star"}});
  int calls = 0;
  dtrain_error error = new_error();
  REQUIRE(dtrain_register_algorithm(one.world.get(), "star", star_on_replicas, &calls, &error) ==
          DTRAIN_OK);
  one.strategy.run([&](Replica& replica) {
    std::vector<float> small(25, static_cast<float>(replica.index()));
    replica.all_reduce(small);
    CHECK(small == std::vector<float>(25, 3));
  });
  CHECK(calls == 0);
  one.strategy.run([&](Replica& replica) {
    std::vector<float> large(26, static_cast<float>(replica.index()));
    replica.all_reduce(large, Op::average);
    CHECK(large == std::vector<float>(26, 1));
  });
  CHECK(calls == 3);
  const std::string refused = error_text([&] {
    one.strategy.run([&](Replica& replica) {
      std::vector<double> other(26);
      replica.all_reduce(other);
    });
  });
  CHECK(refused.find("the registered algorithm star: it returned 7") != std::string::npos);
}

TEST_CASE("an algorithm that is not registered is named") {
  OneProcess one({.devices = 2, .request = {.cross_device = "@mine"}});
  const std::string refused = error_text([&] {
    one.strategy.run([&](Replica& replica) {
      std::vector<float> values(2);
      replica.all_reduce(values);
    });
  });
  CHECK(refused.find("@mine is not registered; call dtrain_register_algorithm first") !=
        std::string::npos);
}

TEST_CASE("workers reduce by the algorithm that the job's table names") {
  World world({.size = 2, .per_host = 1, .algorithms = "ring:100:@star"});
  const auto outcomes = world.run([&](dtrain::Context& context) {
    int calls = 0;
    dtrain_error error = new_error();
    REQUIRE(dtrain_register_algorithm(context.get(), "star", star_algorithm, &calls, &error) ==
            DTRAIN_OK);
    dtrain::Strategy strategy =
        make_strategy(context, {.name = "multi_worker_mirrored", .devices = 2});
    for (const size_t count : {25, 26}) {
      strategy.run([&](Replica& replica) {
        std::vector<float> values(count, static_cast<float>(replica.index()));
        replica.all_reduce(values);
        CHECK(values == std::vector<float>(count, 6));
      });
      CHECK((calls > 0) == (count == 26));
    }
  });
  check_all_well(outcomes);
}

TEST_CASE("variables that are synchronized on read have a value for each replica") {
  OneProcess one({.devices = 3});
  const std::vector<double> initial = {6};
  const auto make = [&](const char* name, Aggregation aggregation) {
    return one.strategy.variable<double>(name, std::span<const double>(initial),
                                         {Synchronization::on_read, aggregation});
  };
  const auto sum = make("sum", Aggregation::sum);
  const auto mean = make("mean", Aggregation::mean);
  const auto first = make("first", Aggregation::first_replica);
  CHECK(sum.read() == initial);
  CHECK(mean.read() == initial);
  CHECK(first.read() == initial);
  one.strategy.run([&](Replica& replica) {
    for (const auto* const variable : {&sum, &mean, &first})
      replica.data(*variable)[0] += static_cast<double>(replica.index() + 1);
  });
  CHECK(sum.read()[0] == 12);
  CHECK(mean.read()[0] == 8);
  CHECK(first.read()[0] == 7);
}

TEST_CASE("assign gives all replicas the aggregate of the values") {
  for (const char* const name : {"mirrored", "central_storage"}) {
    CAPTURE(name);
    OneProcess one({.name = name, .devices = 3});
    const auto make = [&](const char* variable, Aggregation aggregation) {
      return one.strategy.zeros<double>(variable, 1, {.aggregation = aggregation});
    };
    const auto sum = make("sum", Aggregation::sum);
    const auto mean = make("mean", Aggregation::mean);
    const auto first = make("first", Aggregation::first_replica);
    one.strategy.run([&](Replica& replica) {
      const std::array<double, 1> value = {static_cast<double>(replica.index() + 1)};
      for (const auto* const variable : {&sum, &mean, &first})
        replica.assign<double>(*variable, value);
      CHECK(replica.data(sum)[0] == 6);
      CHECK(replica.data(mean)[0] == 2);
      CHECK(replica.data(first)[0] == 1);
    });
    CHECK(sum.read()[0] == 6);
    CHECK(first.read()[0] == 1);
  }
}

TEST_CASE("a step that throws on one replica ends the others, and names the replica") {
  OneProcess one({.devices = 3});
  for (int round = 0; round < 20; ++round) {
    const std::string text = error_text([&] {
      one.strategy.run([&](Replica& replica) {
        if (replica.index() == 1) throw std::runtime_error("boom");
        std::array<double, 1> value = {1};
        replica.all_reduce(value);
        FAIL("the other replicas must not go on");
      });
    });
    CHECK(text == "replica 1 (cpu:1): boom");
  }
  // The strategy stays usable: no other worker takes part in it.
  CHECK(one_step(one.strategy)[0] == -5);
}

TEST_CASE("an update that throws ends the step of all replicas") {
  for (const char* const name : {"mirrored", "central_storage"}) {
    CAPTURE(name);
    OneProcess one({.name = name, .devices = 2});
    const auto w = one.strategy.zeros<double>("w", 3);
    const std::string text = error_text([&] {
      one.strategy.run([&](Replica& replica) {
        std::vector<double> gradient(3);
        replica.apply<double>({{w, gradient}}, Op::sum, [&](auto, auto, auto) {
          if (replica.index() == 0) throw std::runtime_error("bad update");
        });
        replica.any(true);
      });
    });
    CHECK(text == "replica 0 (cpu:0): bad update");
  }
}

TEST_CASE("replicas that differ in an operation get an error that names both") {
  OneProcess one({.devices = 2});
  const std::string text = error_text([&] {
    one.strategy.run([](Replica& replica) {
      std::vector<double> values(replica.index() == 0 ? 3 : 4);
      replica.all_reduce(values);
    });
  });
  CHECK(text ==
        "replica 0 calls all_reduce sum of 1 tensor: 3x type 10 (24 bytes), but replica 1 calls "
        "all_reduce sum of 1 tensor: 4x type 10 (32 bytes)");
}

TEST_CASE("values of replicas are reduced and gathered, also arrays of different sizes") {
  OneProcess one({.devices = 3});
  const auto index =
      one.strategy.run([](Replica& replica) { return static_cast<double>(replica.index()); });
  CHECK(one.strategy.reduce(Op::sum, index) == 3);
  CHECK(one.strategy.reduce(Op::average, index) == 1);
  CHECK(one.strategy.reduce(Op::max, index) == 2);
  const auto arrays = one.strategy.run([](Replica& replica) {
    return std::vector<int>(replica.index(), static_cast<int>(replica.index()));
  });
  CHECK(one.strategy.gather(arrays) == std::vector<int>{1, 2, 2});
  const auto pairs = one.strategy.run(
      [](Replica& replica) { return std::vector<int>{1, static_cast<int>(replica.index())}; });
  CHECK(one.strategy.reduce(Op::sum, pairs) == std::vector<int>{3, 3});
  CHECK(error_text([&] { one.strategy.reduce(Op::sum, arrays); }) ==
        "reduce: the replicas' arrays differ in size");
}

TEST_CASE("parts of a batch and of files differ by one at most, and are complete") {
  for (size_t size = 0; size < 12; ++size) {
    for (size_t count = 1; count < 6; ++count) {
      size_t at = 5;
      for (size_t i = 0; i < count; ++i) {
        const dtrain::Range part = dtrain::shard({5, 5 + size}, i, count);
        CHECK(part.begin == at);
        CHECK(part.size() - size / count <= 1);
        at = part.end;
      }
      CHECK(at == 5 + size);
    }
  }
  const std::vector<std::string> files = {"a", "b", "c", "d", "e"};
  CHECK(dtrain::shard_files(files, 0, 2) == std::vector<std::string>{"a", "c", "e"});
  CHECK(dtrain::shard_files(files, 1, 2) == std::vector<std::string>{"b", "d"});
  CHECK(dtrain::shard_files(files, 5, 6).empty());
}

TEST_CASE("uneven ends join: replicas without data take part until the last one has ended") {
  OneProcess one({.devices = 3});
  const std::vector<size_t> examples = {5, 2, 0};  // by replica; each example is 10
  const auto steps = one.strategy.run([&](Replica& replica) {
    size_t left = examples[replica.index()];
    size_t count = 0;
    std::vector<double> means;
    while (replica.any(left > 0)) {
      const size_t batch = std::min<size_t>(left, 2);
      left -= batch;
      std::array<double, 1> sum = {10.0 * static_cast<double>(batch)};
      count += replica.mean_of_sums<double>(sum, batch);
      means.push_back(sum[0]);
    }
    CHECK(count == 7);
    return means;
  });
  CHECK(steps[0] == std::vector<double>{10, 10, 10});
  CHECK(steps[0] == steps[2]);
}

TEST_CASE("global batches and rates scale with the replicas") {
  OneProcess one({.devices = 4});
  CHECK(one.strategy.per_replica_batch(128) == 32);
  CHECK(one.strategy.global_batch(32) == 128);
  CHECK(one.strategy.scaled_learning_rate(0.1) == doctest::Approx(0.4));
  CHECK(error_text([&] { one.strategy.per_replica_batch(30); }) ==
        "a batch of 30 does not divide by 4 replicas");
}

TEST_CASE("variables are named once, with a scope before the name") {
  OneProcess one;
  const auto scope = one.strategy.scope("model").scope("layer");
  const auto w = scope.zeros<float>("w", 3);
  CHECK(w.size() == 3);
  CHECK(error_text([&] { one.strategy.zeros<float>("model/layer/w", 4); }) ==
        "variable \"model/layer/w\" exists, with 3 elements, not 4");
  CHECK(error_text([&] { scope.zeros<float>("w", 3); }) ==
        "variable \"model/layer/w\" exists, with 3 elements");
  CHECK(error_text([&] { one.strategy.zeros<float>("", 3); }) ==
        "the name of a variable must have 1 to 255 bytes");
  CHECK(error_text([&] { w.write(std::vector<float>(2)); }) ==
        "write: the variable has another number of elements");
}

TEST_CASE("calls between steps are refused within a step") {
  OneProcess one;
  const auto w = one.strategy.zeros<double>("w", 1);
  const std::string text = error_text([&] {
    one.strategy.run([&](Replica& replica) {
      if (replica.index() == 0) w.read();
    });
  });
  CHECK(text == "replica 0 (cpu:0): a step is running; call this between steps");
}

TEST_CASE("devices and strategies that do not exist are refused by name") {
  const auto text = [](TestedStrategy tested) {
    return error_text([&] { OneProcess one(std::move(tested)); });
  };
  CHECK(text({.request = {.devices = "0,gpu:1"}}) ==
        "no device \"gpu:1\"; this process has cpu:0, cpu:1");
  CHECK(text({.name = "one_device", .request = {.devices = "0,1"}}) ==
        "one_device has one device, and \"0,1\" names 2");
  CHECK(
      text({.request = {.cross_device = "ReductionToOneDevice:2"}}) ==
      "ReductionToOneDevice cannot reduce on \"2\"; give one of its devices, cpu:0, cpu:1, or cpu");
  CHECK(text({.name = "multi_worker_mirrored", .request = {.communication = "NCCL"}}) ==
        "the communication nccl needs GPUs, and this worker computes on cpu:0; use ring or auto");
  CHECK(text({.name = "multi_worker_mirrored", .request = {.communication = "RING"}}).empty());
  CHECK(text({.name = "tpu"}).starts_with("strategy: there is no TPU here"));
  CHECK(text({.devices = 99}).starts_with("DTRAIN_CPU_DEVICES: must be a number from 1 to 64"));
}

TEST_CASE("gradients of an unsuitable variable are refused") {
  OneProcess one({.devices = 1});
  const auto own =
      one.strategy.zeros<double>("own", 2, {.synchronization = Synchronization::on_read});
  const auto w = one.strategy.zeros<double>("w", 2);
  std::vector<double> gradient(2);
  const auto apply = [&](const Variable<double>& variable, std::span<double> values) {
    return error_text([&] {
      one.strategy.run([&](Replica& replica) {
        replica.apply<double>({{variable, values}}, Op::sum, [](auto, auto, auto) {});
      });
    });
  };
  CHECK(contains(apply(own, gradient), "variable \"own\" is synchronized on read"));
  CHECK(contains(apply(w, std::span(gradient).first(1)),
                 "apply: a gradient has another size than its variable"));
  OneProcess other;
  const auto foreign = other.strategy.zeros<double>("w", 2);
  CHECK(contains(apply(foreign, gradient), "the variable is NULL or of another strategy"));
}

}  // namespace
}  // namespace dt
