#include "comm/training/strategy/api_strategy.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <string>

extern "C" int one_step_in_c(dtrain_context* context, double* result);

namespace dt {
namespace {

TEST_CASE("a program in C trains under a strategy") {
  const Alone alone;
  double result = 0;
  CHECK(one_step_in_c(alone.context, &result) == DTRAIN_OK);
  CHECK(result == 3);
}

TEST_CASE("without a context, a strategy joins by itself, here alone") {
  dtrain_strategy* const strategy = dtrain_strategy_create(nullptr, nullptr, nullptr);
  REQUIRE(strategy != nullptr);
  CHECK(dtrain_strategy_workers(strategy) == 1);
  CHECK(dtrain_strategy_worker(strategy) == 0);
  CHECK(dtrain_size(dtrain_strategy_context(strategy)) == 1);
  dtrain_strategy_free(strategy);
}

TEST_CASE("parameter_server needs the ranks of a job") {
  dtrain_strategy_options options = {};
  options.struct_size = sizeof options;
  options.name = "parameter_server";
  dtrain_error error = new_error();
  CHECK(dtrain_strategy_create(nullptr, &options, &error) == nullptr);
  CHECK(error.code == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "parameter_server needs the ranks of a job; start it by dtrain run"));
}

/// Returns the text of the call's error.
template <class Call>
std::string refusal(const Call& call) {
  dtrain_error error = new_error();
  CHECK(call(&error) == DTRAIN_ERROR_INPUT);
  return error.text;
}

TEST_CASE("NULL handles are refused, and have no numbers") {
  dtrain_strategy_free(nullptr);
  CHECK(dtrain_strategy_name(nullptr) == nullptr);
  CHECK(dtrain_strategy_replicas(nullptr) == -1);
  CHECK(dtrain_strategy_context(nullptr) == nullptr);
  CHECK(dtrain_replica_index(nullptr) == -1);
  CHECK(dtrain_replica_data(nullptr, nullptr) == nullptr);
  CHECK(refusal([](dtrain_error* error) {
          return dtrain_strategy_run(nullptr, nullptr, nullptr, error);
        }) == "the dtrain_strategy is NULL");
  CHECK(refusal([](dtrain_error* error) {
          return dtrain_replica_apply(nullptr, nullptr, nullptr, nullptr, error);
        }) == "the dtrain_replica is NULL");
  CHECK(refusal([](dtrain_error* error) {
          return dtrain_variable_read(nullptr, nullptr, error);
        }) == "an argument is NULL");
}

TEST_CASE("wrong options of a variable are refused by name") {
  const Alone alone;
  dtrain_strategy* const strategy = dtrain_strategy_create(alone.context, nullptr, nullptr);
  REQUIRE(strategy != nullptr);
  dtrain_variable_options options = {};
  options.struct_size = sizeof options;
  options.name = "w";
  options.count = 3;
  options.type = DTRAIN_FLOAT32;
  dtrain_variable* variable = nullptr;
  const auto create = [&](dtrain_error* error) {
    return dtrain_variable_create(strategy, &options, &variable, error);
  };
  options.aggregation = 3;
  CHECK(refusal(create) == "dtrain_variable_options.aggregation is 3, no dtrain_aggregation");
  options.aggregation = 0;
  options.synchronization = 2;
  CHECK(refusal(create) ==
        "dtrain_variable_options.synchronization is 2, no dtrain_synchronization");
  options.synchronization = 0;
  options.type = DTRAIN_OPAQUE;
  CHECK(refusal(create) == "variables have no opaque elements");
  options.type = DTRAIN_FLOAT32;
  CHECK(create(nullptr) == DTRAIN_OK);
  CHECK(variable != nullptr);
  CHECK(refusal(create) == "variable \"w\" exists, with 3 elements");
  CHECK(variable == nullptr);
  dtrain_strategy_free(strategy);
}

TEST_CASE("a step's failure has its text, or its number") {
  const Alone alone;
  dtrain_strategy* const strategy = dtrain_strategy_create(alone.context, nullptr, nullptr);
  REQUIRE(strategy != nullptr);
  const auto run = [&](dtrain_replica_step step) {
    return refusal(
        [&](dtrain_error* error) { return dtrain_strategy_run(strategy, step, nullptr, error); });
  };
  CHECK(run([](dtrain_replica*, void*) { return 7; }) == "replica 0 (cpu:0): it returned 7");
  CHECK(run([](dtrain_replica* replica, void*) {
          dtrain_replica_fail(replica, "no data");
          return 1;
        }) == "replica 0 (cpu:0): no data");
  dtrain_strategy_free(strategy);
}

}  // namespace
}  // namespace dt
