// Results of operations on memory of devices, in C. Devices of the CPU take the place of GPUs.
#include "comm/collective/reduce.h"
#include "tests/unit/comm/api/collective_calls.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <cstring>
#include <vector>

namespace dt {
namespace {

void check_same(World& world, const std::vector<ApiCall>& calls) {
  check_all_well(world.run([&](dtrain::Context& context) {
    const CpuDevices cpu({});
    for (const ApiCall& call : calls) {
      const Elements expected = result_on_host(context.get(), call);
      for (const bool gives_stream : {false, true}) {
        const Elements result = result_on_device(context.get(), call, cpu.stream(0), gives_stream);
        const bool same = result.size() == expected.size() &&
                          std::memcmp(result.data(), expected.data(), result.size()) == 0;
        CHECK_MESSAGE(same, call.text());
      }
    }
  }));
}

TEST_CASE("every operation has the same results on memory of a device as on that of the host") {
  std::vector<ApiCall> calls;
  for (const dtrain_type type : {DTRAIN_FLOAT32, DTRAIN_INT16, DTRAIN_UINT64, DTRAIN_FLOAT8_E4M3}) {
    for (auto kind = OperationKind::all_reduce; kind <= OperationKind::all_to_all;
         kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
      calls.push_back({.kind = kind, .type = type});
      const bool has_input =
          kind == OperationKind::reduce_scatter || kind == OperationKind::scatter;
      if (!has_input) calls.push_back({.kind = kind, .type = type, .in_place = true});
    }
  }
  for (const int size : {1, 2, 3, 4}) {
    World world({.size = size, .per_host = 2});
    check_same(world, calls);
    if (size == 1) continue;
    check_same(world, {{.kind = OperationKind::send}});
  }
}

TEST_CASE("every type and reduction has the same results on memory of a device") {
  std::vector<ApiCall> calls;
  for (size_t i = 0; i < element_type_count; ++i) {
    const auto element = static_cast<ElementType>(i);
    const auto type = static_cast<dtrain_type>(type_number(element));
    for (int op = DTRAIN_SUM; op <= DTRAIN_ADASUM; ++op) {
      const bool floating = is_floating(element);
      if ((op == DTRAIN_ADASUM && !floating) || (op == DTRAIN_AVERAGE && type == DTRAIN_BOOL))
        continue;
      calls.push_back(
          {.kind = OperationKind::all_reduce, .type = type, .op = static_cast<dtrain_op>(op)});
    }
  }
  World world({.size = 2, .per_host = 2});
  check_same(world, calls);
}

TEST_CASE("large calls have the same results in chunks") {
  constexpr size_t count = 1'100'000;  // more than 8 MiB
  World world({.size = 3, .per_host = 2});
  check_same(
      world,
      {{.kind = OperationKind::all_reduce, .type = DTRAIN_INT64, .in_place = true, .count = count},
       {.kind = OperationKind::reduce, .type = DTRAIN_INT64, .count = count}});
}

TEST_CASE("large calls that differ are a mismatch, and the next call is executed") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    const auto size = static_cast<size_t>(context.rank() == 0 ? 2'500'000 : 4'000'000);
    const DeviceBuffer memory = on_device(cpu.stream(0), std::vector<int32_t>(size, 1));
    dtrain_error error = new_error();
    dtrain_buffers buffers = {nullptr, memory.at(), size, DTRAIN_INT32};
    CHECK(dtrain_all_reduce(context.get(), buffers, DTRAIN_SUM, nullptr, &error) ==
          DTRAIN_ERROR_MISMATCH);
    CHECK_MESSAGE(contains(error.text, "int32[2500000]"), error.text);
    buffers.count = 2'500'000;
    CHECK(dtrain_all_reduce(context.get(), buffers, DTRAIN_SUM, nullptr, &error) == DTRAIN_OK);
    CHECK(values_of<int32_t>(cpu.stream(0), memory, 2'500'000) ==
          std::vector<int32_t>(2'500'000, 2));
  }));
}

}  // namespace
}  // namespace dt
