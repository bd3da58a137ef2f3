#include "tests/unit/comm/training/strategy/strategies.h"

namespace dt {
namespace {

TEST_CASE("wrong arguments of a prefetch are refused by name") {
  OneProcess one;
  dtrain_prefetch_options options = {};
  options.struct_size = sizeof options;
  const auto refusal = [&](dtrain_strategy* strategy) {
    dtrain_error error = new_error();
    CHECK(dtrain_prefetch_create(strategy, &options, &error) == nullptr);
    CHECK(error.code == DTRAIN_ERROR_INPUT);
    return std::string(error.text);
  };
  CHECK(refusal(nullptr) == "the dtrain_strategy is NULL");
  CHECK(refusal(one.strategy.get()) == "dtrain_prefetch_options.fill is NULL");
  options.fill = [](void*, void*) { return size_t{0}; };
  CHECK(refusal(one.strategy.get()) ==
        "cannot prefetch 2 batches of 0 bytes; give 1 to 1024 batches that are not empty");
  options.local_replica = -1;
  CHECK(refusal(one.strategy.get()) == "dtrain_prefetch_options.local_replica is negative");
  dtrain_error error = new_error();
  CHECK(dtrain_prefetch_next(nullptr, nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  dtrain_prefetch_free(nullptr);
}

TEST_CASE("a function that fails ends the batches") {
  OneProcess one;
  dtrain_prefetch_options options = {};
  options.struct_size = sizeof options;
  options.bytes = 8;
  int left = 1;
  options.argument = &left;
  options.fill = [](void*, void* argument) {
    return (*static_cast<int*>(argument))-- > 0 ? size_t{8} : DTRAIN_FILL_FAILED;
  };
  dtrain_prefetch* const prefetch = dtrain_prefetch_create(one.strategy.get(), &options, nullptr);
  REQUIRE(prefetch != nullptr);
  const void* data = nullptr;
  size_t bytes = 0;
  CHECK(dtrain_prefetch_next(prefetch, &data, &bytes, nullptr) == DTRAIN_OK);
  CHECK(bytes == 8);
  dtrain_error error = new_error();
  CHECK(dtrain_prefetch_next(prefetch, &data, &bytes, &error) == DTRAIN_ERROR_SYSTEM);
  CHECK(std::string(error.text) == "the function that fills a batch has failed");
  dtrain_prefetch_free(prefetch);
}

}  // namespace
}  // namespace dt
