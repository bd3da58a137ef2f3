#include "comm/training/strategy/strategy_options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

StrategyName name_by(const Environment& environment, int workers = 1) {
  return decide_strategy({}, environment, workers).value().name;
}

TEST_CASE("the program's argument wins over DTRAIN_STRATEGY, and this over TF_CONFIG") {
  const Environment environment = {
      {"DTRAIN_STRATEGY", "central_storage"},
      {"TF_CONFIG",
       R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})"}};
  CHECK(decide_strategy({.name = "one_device"}, environment, 1).value().name ==
        StrategyName::one_device);
  CHECK(name_by(environment) == StrategyName::central_storage);
  Environment tf_only = environment;
  tf_only.erase("DTRAIN_STRATEGY");
  CHECK(name_by(tf_only) == StrategyName::multi_worker_mirrored);
}

TEST_CASE("without a name, TF_CONFIG and the number of workers decide") {
  const auto by_cluster = [](const char* cluster) {
    return name_by({{"TF_CONFIG", std::string(R"({"cluster": {)") + cluster +
                                      R"(}, "task": {"type": "worker", "index": 0}})"}});
  };
  CHECK(by_cluster(R"("worker": ["a:1"])") == StrategyName::mirrored);
  CHECK(by_cluster(R"("worker": ["a:1"], "evaluator": ["c:1"])") == StrategyName::mirrored);
  CHECK(by_cluster(R"("chief": ["c:1"], "worker": ["a:1"])") ==
        StrategyName::multi_worker_mirrored);
  CHECK(by_cluster(R"("ps": ["c:1"], "worker": ["a:1", "b:1"])") ==
        StrategyName::multi_worker_mirrored);
  CHECK(name_by({}) == StrategyName::mirrored);
  CHECK(name_by({}, 3) == StrategyName::multi_worker_mirrored);
}

TEST_CASE("devices and the cross-device operation come from the argument, else the environment") {
  const Environment environment = {{"DTRAIN_DEVICES", "0,1"},
                                   {"DTRAIN_CROSS_DEVICE_OP", "AllReduce:2"}};
  const StrategyOptions by_environment = decide_strategy({}, environment, 1).value();
  CHECK(by_environment.devices == "0,1");
  CHECK(by_environment.cross_device ==
        CrossDeviceRules{{.name = {.kind = CrossDeviceName::Kind::all_reduce, .packs = 2}}});
  const StrategyOptions by_argument =
      decide_strategy({.devices = "2", .cross_device = "ReductionToOneDevice"}, environment, 1)
          .value();
  CHECK(by_argument.devices == "2");
  CHECK(by_argument.cross_device[0].name.kind == CrossDeviceName::Kind::reduction_to_one_device);
  CHECK(decide_strategy({}, {}, 1).value().devices.empty());
}

TEST_CASE("limits of transfers and the mode come from the argument, else the environment") {
  const Environment environment = {{"DTRAIN_BYTES_PER_PACK", "64K"},
                                   {"DTRAIN_STRATEGY_TIMEOUT", "1.5s"},
                                   {"DTRAIN_PS_MODE", "sync:2"},
                                   {"DTRAIN_DEVICE_MEMORY", "2G"},
                                   {"DTRAIN_COMMUNICATION", "RING"}};
  const StrategyOptions by_environment = decide_strategy({}, environment, 1).value();
  CHECK(by_environment.bytes_per_pack == 65536);
  CHECK(by_environment.timeout_ms == 1500);
  CHECK(by_environment.device_memory == size_t{2} << 30);
  CHECK(by_environment.communication == Communication::ring);
  CHECK(by_environment.mode == ServerMode{ServerMode::Kind::sync, 2});
  const StrategyOptions by_argument =
      decide_strategy({.bytes_per_pack = 9, .timeout_ms = 7, .ps_mode = "bounded:3"}, environment,
                      1)
          .value();
  CHECK(by_argument.bytes_per_pack == 9);
  CHECK(by_argument.timeout_ms == 7);
  CHECK(by_argument.mode == ServerMode{ServerMode::Kind::bounded, 3});
  CHECK(decide_strategy({.asynchronous = true}, environment, 1).value().mode.kind ==
        ServerMode::Kind::async);
  const StrategyOptions by_default = decide_strategy({}, {}, 1).value();
  CHECK(by_default.bytes_per_pack == 0);
  CHECK(by_default.timeout_ms == 0);
  CHECK(by_default.mode.needs_all());
}

TEST_CASE("this process has the name of the job's task, else that of TF_CONFIG") {
  const Environment tf = {
      {"TF_CONFIG",
       R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}})"}};
  CHECK(decide_strategy({}, {}, 1).value().self == DeviceOwner{"worker", 0});
  CHECK(decide_strategy({}, tf, 1).value().self == DeviceOwner{"worker", 1});
  Environment job = tf;
  job["DTRAIN_ROLE"] = "chief";
  job["DTRAIN_TASK_INDEX"] = "0";
  CHECK(decide_strategy({}, job, 1).value().self == DeviceOwner{"chief", 0});
}

TEST_CASE("placement has flags of the program and of the environment") {
  CHECK_FALSE(decide_strategy({}, {{"DTRAIN_SOFT_PLACEMENT", "0"}}, 1).value().soft_placement);
  CHECK(decide_strategy({}, {{"DTRAIN_SOFT_PLACEMENT", "1"}}, 1).value().soft_placement);
  CHECK(decide_strategy({.log_placement = true}, {}, 1).value().log_placement);
}

TEST_CASE("a wrong value is named with its origin") {
  const auto message = [](const StrategyRequest& request, const Environment& environment) {
    const auto decided = decide_strategy(request, environment, 1);
    return decided ? "decided" : decided.error().message;
  };
  CHECK(message({.name = "tpu"}, {}).starts_with("strategy: there is no TPU here; the strategies"));
  CHECK(message({}, {{"DTRAIN_STRATEGY", "mirored"}}) ==
        "DTRAIN_STRATEGY: no strategy \"mirored\"; did you mean mirrored?");
  CHECK(message({}, {{"DTRAIN_CROSS_DEVICE_OP", "x"}})
            .starts_with("DTRAIN_CROSS_DEVICE_OP: no cross-device operation \"x\""));
  CHECK(message({}, {{"TF_CONFIG", "{"}}).starts_with("TF_CONFIG: "));
  CHECK(message({}, {{"DTRAIN_BYTES_PER_PACK", "0"}}) ==
        "DTRAIN_BYTES_PER_PACK: expected a size from 1, got \"0\"");
  CHECK(message({}, {{"DTRAIN_STRATEGY_TIMEOUT", "soon"}})
            .starts_with("DTRAIN_STRATEGY_TIMEOUT: expected a duration"));
  CHECK(message({.communication = "x"}, {}).starts_with("communication: no communication \"x\""));
  CHECK(message({}, {{"DTRAIN_LOG_PLACEMENT", "yes"}}) ==
        "DTRAIN_LOG_PLACEMENT: expected 0 or 1, got \"yes\"");
  CHECK(message({.ps_mode = "x"}, {}).starts_with("ps_mode: no mode of parameter servers \"x\""));
  CHECK(message({}, {{"DTRAIN_PS_MODE", "y"}}).starts_with("DTRAIN_PS_MODE: no mode"));
  CHECK(message({.timeout_ms = -1}, {}) == "the timeout of a strategy must not be negative");
}

}  // namespace
}  // namespace dt
