#include "comm/strategy/replica_reducer.h"

#include <doctest/doctest.h>

#include <array>
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
  int blamed_rank = -1;
  dtrain_context* context = dtrain_init(nullptr, nullptr);
  std::unique_ptr<Workers> workers =
      Workers::join(context, {.devices = 3}, 0, &blamed_rank).value();
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

}  // namespace
}  // namespace dt
