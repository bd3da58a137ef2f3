// Several tensors in one call, in C and C++.
#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

using Gradients = std::vector<std::vector<float>>;

/// Small tensors, one without elements, and a large one.
Gradients gradients(float value) {
  return {std::vector<float>(3, value),
          {},
          std::vector<float>(50'000, value),
          std::vector<float>(1, value)};
}

TEST_CASE("all tensors of a list are reduced") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 3, .per_host = 3, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      const auto value = static_cast<float>(context.rank());
      Gradients sums = gradients(value);
      context.all_reduce_list(sums);
      CHECK(sums == gradients(3));
      Gradients means = gradients(value);
      Gradients most = gradients(value);
      // Lists with names match in any order.
      std::vector<dtrain::Work> works;
      const auto start_means = [&] {
        works.push_back(
            context.all_reduce_list_async(means, dtrain::Op::average, {.name = "means"}));
      };
      if (context.rank() == 1) start_means();
      works.push_back(context.all_reduce_list_async(most, dtrain::Op::max, {.name = "most"}));
      if (context.rank() != 1) start_means();
      for (dtrain::Work& work : works)
        work.wait();
      CHECK(means == gradients(1));
      CHECK(most == gradients(2));
      CHECK(works[0].times().ended.has_value());
      Gradients none;
      context.all_reduce_list(none);
    }));
  }
}

TEST_CASE("a list may have several types and shapes, which ranks compare") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::array<float, 6> floats = {};
    std::array<int64_t, 2> numbers = {5, 6};
    const std::array<dtrain_buffers, 2> tensors = {
        {{nullptr, floats.data(), 6, DTRAIN_FLOAT32}, {nullptr, numbers.data(), 2, DTRAIN_INT64}}};
    const std::array<size_t, 2> shape = {2, 3};
    const std::array<size_t, 2> other_shape = {3, 2};
    const std::array<size_t, 1> length = {2};
    std::array<const size_t*, 2> shapes = {shape.data(), length.data()};
    const std::array<int, 2> dims = {2, 1};
    const dtrain_tensor_list list = {sizeof list, tensors.data(), 2, shapes.data(), dims.data()};
    dtrain_error error = {};
    error.struct_size = sizeof error;
    REQUIRE(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, nullptr, &error) == DTRAIN_OK);
    CHECK(numbers == std::array<int64_t, 2>{10, 12});
    if (context.rank() == 1) shapes[0] = other_shape.data();
    dtrain_op_options options = {};
    options.struct_size = sizeof options;
    options.name = "g";
    CHECK(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, &options, &error) ==
          DTRAIN_ERROR_MISMATCH);
    CHECK(std::string(error.text).starts_with("all_reduce \"g[1/2]\": rank 1 "));
    CHECK(error.rank == 1);
    // The other tensor was not reduced either, and the engine is usable.
    CHECK(numbers == std::array<int64_t, 2>{10, 12});
    shapes[0] = shape.data();
    CHECK(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, &options, &error) == DTRAIN_OK);
  }));
}

TEST_CASE("lists of different lengths are a mismatch") {
  World world({.size = 2, .per_host = 2});
  for (const RankOutcome& outcome : world.run([](dtrain::Context& context) {
         Gradients values(context.rank() == 0 ? 2 : 3, std::vector<float>(2));
         context.all_reduce_list(values, dtrain::Op::sum, {.name = "g"});
       }))
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
}

TEST_CASE("a tensor of a list with its own name matches in any list, or alone") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::array<float, 3> values = {1, 2, 3};
    std::array<const char*, 3> names = {"a", "b", "c"};
    std::array<dtrain_buffers, 3> tensors = {};
    for (size_t i = 0; i < 3; ++i)
      tensors[i] = {nullptr, &values[i], 1, DTRAIN_FLOAT32};
    dtrain_tensor_list list = {sizeof list, tensors.data(), 3, nullptr, nullptr, names.data()};
    dtrain_error error = {};
    error.struct_size = sizeof error;
    if (context.rank() == 0) {
      CHECK(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, nullptr, &error) == DTRAIN_OK);
    } else {
      std::swap(tensors[0], tensors[2]);
      std::swap(names[0], names[2]);
      list.count = 2;
      dtrain_work* const work =
          dtrain_all_reduce_list_async(context.get(), &list, DTRAIN_SUM, nullptr, &error);
      dtrain_op_options options = {};
      options.struct_size = sizeof options;
      options.name = "a";
      CHECK(dtrain_all_reduce(context.get(), tensors[2], DTRAIN_SUM, &options, &error) ==
            DTRAIN_OK);
      CHECK(dtrain_work_wait(work, -1, &error) == DTRAIN_OK);
      dtrain_work_free(work);
    }
    CHECK(values == std::array<float, 3>{2, 4, 6});
  }));
}

TEST_CASE("tensors with their own names are sent although another of their list differs") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::array<float, 2> values = {1, 2};
    const std::array<const char*, 2> names = {"same", "other"};
    const std::array<dtrain_buffers, 2> tensors = {
        {{nullptr, &values[0], 1, DTRAIN_FLOAT32},
         {nullptr, &values[1], static_cast<size_t>(context.rank()), DTRAIN_FLOAT32}}};
    const dtrain_tensor_list list = {sizeof list, tensors.data(), 2,
                                     nullptr,     nullptr,        names.data()};
    dtrain_error error = {};
    error.struct_size = sizeof error;
    CHECK(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, nullptr, &error) ==
          DTRAIN_ERROR_MISMATCH);
    CHECK(std::string(error.text).starts_with("all_reduce \"other\""));
    CHECK(values == std::array<float, 2>{2, 2});
  }));
}

TEST_CASE("if a tensor of a list is wrong, none is sent") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    float value = 1;
    std::array<dtrain_buffers, 2> tensors = {
        {{nullptr, &value, 1, DTRAIN_FLOAT32}, {nullptr, nullptr, 1, DTRAIN_FLOAT32}}};
    dtrain_tensor_list list = {sizeof list, tensors.data(), 2, nullptr, nullptr};
    dtrain_error error = {};
    error.struct_size = sizeof error;
    CHECK(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, nullptr, &error) ==
          DTRAIN_ERROR_INPUT);
    CHECK(std::string(error.text) == "all_reduce \"#1[2/2]\": the input is null");
    // Names that are pending are refused, too.
    list.count = 1;
    dtrain_op_options options = {};
    options.struct_size = sizeof options;
    options.name = "g";
    float first = 1;
    const dtrain_buffers pending = {nullptr, &first, 1, DTRAIN_FLOAT32};
    dtrain_op_options single = options;
    single.name = "g[1/1]";
    dtrain_work* work = nullptr;
    if (context.rank() == 1) {
      work = dtrain_all_reduce_async(context.get(), pending, DTRAIN_SUM, &single, &error);
      CHECK(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, &options, &error) ==
            DTRAIN_ERROR_INPUT);
      CHECK(std::string(error.text).find("is pending") != std::string::npos);
      context.barrier();
    } else {
      context.barrier();  // the name stays pending until then
      CHECK(dtrain_all_reduce(context.get(), pending, DTRAIN_SUM, &single, &error) == DTRAIN_OK);
    }
    dtrain_work_free(work);
    CHECK(value == 1);
    CHECK(first == 2);
  }));
}

TEST_CASE("wrong arguments of a list") {
  const Alone alone;
  dtrain_error error = {};
  error.struct_size = sizeof error;
  const auto refusal = [&](const dtrain_tensor_list* list, const dtrain_op_options* options) {
    CHECK(dtrain_all_reduce_list_async(alone.context, list, DTRAIN_SUM, options, &error) ==
          nullptr);
    CHECK(dtrain_all_reduce_list(alone.context, list, DTRAIN_SUM, options, &error) ==
          DTRAIN_ERROR_INPUT);
    return std::string(error.text);
  };
  CHECK(refusal(nullptr, nullptr) == "the dtrain_tensor_list is NULL");
  dtrain_tensor_list list = {sizeof list, nullptr, 1, nullptr, nullptr};
  CHECK(refusal(&list, nullptr) == "dtrain_tensor_list.tensors is NULL");
  float value = 2;
  dtrain_buffers tensor = {nullptr, &value, 1, DTRAIN_FLOAT32};
  list.tensors = &tensor;
  const size_t* shape = nullptr;
  list.shapes = &shape;
  CHECK(refusal(&list, nullptr) == "dtrain_tensor_list.dims is NULL, but shapes is not");
  const int dims = 1;
  list.dims = &dims;
  CHECK(refusal(&list, nullptr) == "the shape of tensor 1 is not complete");
  const size_t one = 1;
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.shape = &one;
  options.dims = 1;
  CHECK(refusal(&list, &options) ==
        "dtrain_op_options.shape must be NULL: dtrain_tensor_list.shapes has the shapes");
  list.shapes = nullptr;
  list.dims = nullptr;
  const char* name = "";
  list.names = &name;
  CHECK(refusal(&list, nullptr) == "dtrain_tensor_list.names has no name of tensor 1");
  name = "a";
  const dtrain_quorum quorum = {sizeof quorum, 1, 0, DTRAIN_DROP_LATE, 0};
  CHECK(dtrain_all_reduce_quorum_async(alone.context, &list, DTRAIN_SUM, &quorum, nullptr,
                                       &error) == nullptr);
  CHECK(std::string(error.text) ==
        "a quorum is of a whole list; leave out dtrain_tensor_list.names");
  list.names = nullptr;
  CHECK(dtrain_all_reduce_list(nullptr, &list, DTRAIN_SUM, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_all_reduce_list(alone.context, &list, DTRAIN_SUM, nullptr, &error) == DTRAIN_OK);
  CHECK(value == 2);
}

TEST_CASE("a rank that leaves ends the lists of the others") {
  World world({.size = 2, .per_host = 2});
  const auto outcomes = world.run([](dtrain::Context& context) {
    if (context.rank() == 1) return;
    Gradients values = gradients(1);
    context.all_reduce_list(values, dtrain::Op::sum, {.name = "g"});
  });
  CHECK(outcomes[0].code == DTRAIN_ERROR_PEER_LOST);
  CHECK(outcomes[0].rank == 1);
}

}  // namespace
}  // namespace dt
