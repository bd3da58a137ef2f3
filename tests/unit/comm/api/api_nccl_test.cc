// Collectives on memory of devices that NCCL runs, in C. Devices of the CPU and a library of our
// own take the places of GPUs and NCCL.
#include "comm/include/dtrain/dtrain_device.h"
#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/collective_calls.h"
#include "tests/unit/comm/api/nccl_fixture.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// Small whole numbers, whose sums and averages have no rounding in any order.
template <class T>
Elements whole_numbers(size_t bytes, int rank) {
  std::vector<T> values(bytes / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>((i * 7 + static_cast<size_t>(rank) * 3) % 11);
  Elements elements(bytes);
  std::memcpy(elements.data(), values.data(), bytes);
  return elements;
}

std::vector<ApiCall> calls_of(dtrain_type type, const MakeBytes& make) {
  std::vector<ApiCall> calls;
  for (auto kind = OperationKind::all_reduce; kind <= OperationKind::all_to_all;
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
    calls.push_back({.kind = kind, .type = type, .make = make});
    const bool has_input = kind == OperationKind::reduce_scatter || kind == OperationKind::scatter;
    if (!has_input) calls.push_back({.kind = kind, .type = type, .in_place = true, .make = make});
    calls.push_back({.kind = kind, .type = type, .same = true, .make = make});
  }
  for (const dtrain_op op : {DTRAIN_MIN, DTRAIN_MAX, DTRAIN_AVERAGE}) {
    for (const auto kind :
         {OperationKind::all_reduce, OperationKind::reduce, OperationKind::reduce_scatter})
      calls.push_back({.kind = kind, .type = type, .op = op, .make = make});
  }
  return calls;
}

/// Calls that are scaled or compressed. The numbers stay exact.
std::vector<ApiCall> scaled_calls() {
  std::vector<ApiCall> calls;
  for (const auto kind :
       {OperationKind::all_reduce, OperationKind::reduce, OperationKind::reduce_scatter}) {
    for (const dtrain_op op : {DTRAIN_SUM, DTRAIN_MAX, DTRAIN_AVERAGE}) {
      const bool has_input = kind == OperationKind::reduce_scatter;
      ApiCall call{.kind = kind, .op = op, .make = whole_numbers<float>};
      for (const int compression :
           {DTRAIN_NO_COMPRESSION, DTRAIN_COMPRESSION_FLOAT16, DTRAIN_COMPRESSION_BFLOAT16}) {
        call.compression = compression;
        for (const auto& [prescale, postscale] : {std::pair(0.0, 0.0), std::pair(2.0, 0.0),
                                                  std::pair(0.0, 0.5), std::pair(4.0, 0.25)}) {
          call.prescale = prescale;
          call.postscale = postscale;
          call.in_place = !has_input && postscale == 0.5;
          call.same = prescale == 2;
          calls.push_back(call);
        }
      }
    }
  }
  return calls;
}

TEST_CASE("the version of NCCL is that of the library that would connect devices; 0: none") {
  const auto version = [](const char* fake, const char* library) {
    const Variables variables("auto", fake, library);
    return dtrain_nccl_version();
  };
  CHECK(version("", FAKE_NCCL) == 22809);
  CHECK(version("version=21403", FAKE_NCCL) == 21403);
  CHECK(version("version=21200", FAKE_NCCL) == 0);
  CHECK(version("", "/no/libnccl.so.2") == 0);
}

TEST_CASE("NCCL's collectives have the results of the engine") {
  const Variables variables("nccl");
  std::vector<ApiCall> calls = calls_of(DTRAIN_FLOAT32, whole_numbers<float>);
  for (const ApiCall& call : calls_of(DTRAIN_INT32, whole_numbers<int32_t>))
    calls.push_back(call);
  // NCCL moves 8-bit floats of all bits, and the engine reduces them.
  for (const ApiCall& call : calls_of(DTRAIN_FLOAT8_E5M2, some_bytes))
    calls.push_back(call);
  // The engine keeps NaN in a minimum and a maximum.
  for (const dtrain_op op : {DTRAIN_MIN, DTRAIN_MAX})
    for (const dtrain_type type : {DTRAIN_INT8, DTRAIN_FLOAT32})
      calls.push_back({.type = type, .op = op, .make = some_bytes});
  for (const ApiCall& call : scaled_calls())
    calls.push_back(call);
  for (const int size : {2, 3, 4}) {
    World world({.size = size, .per_host = 2});
    check_all_well(world.run([&](dtrain::Context& context) {
      DeviceRank rank(context);
      CHECK(dtrain_uses_nccl(context.get()) == 0);
      rank.reach_nccl();
      for (const ApiCall& call : calls) {
        const Elements expected = result_on_host(context.get(), call);
        for (const bool gives_stream : {false, true}) {
          const Elements result =
              result_on_device(context.get(), call, rank.cpu.stream(0), gives_stream);
          CHECK_MESSAGE(result == expected, call.text());
        }
      }
    }));
  }
  CHECK(dtrain_uses_nccl(nullptr) == 0);
}

/// Numbers whose products and sums are rounded.
Elements rough_numbers(size_t bytes, int rank) {
  Elements elements(bytes);
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    const float value = 1.0F / static_cast<float>(1 + (i * 31 + static_cast<size_t>(rank)) % 97);
    std::memcpy(elements.data() + i * sizeof value, &value, sizeof value);
  }
  return elements;
}

TEST_CASE("scales and compression round as in the engine") {
  const Variables variables("nccl");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    rank.reach_nccl();
    // Two ranks: the order of a sum makes no difference.
    for (ApiCall call : scaled_calls()) {
      call.make = rough_numbers;
      if (call.prescale != 0) call.prescale = 1.0 / 3;
      if (call.postscale != 0) call.postscale = 1.0 / 7;
      const Elements expected = result_on_host(context.get(), call);
      const Elements result = result_on_device(context.get(), call, rank.cpu.stream(0), false);
      CHECK_MESSAGE(result == expected, call.text());
    }
  }));
}

TEST_CASE("calls that NCCL cannot execute are staged, between calls that it executes") {
  const Variables variables("auto");
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    rank.reach_nccl();
    dtrain_op_options scaled = {};
    scaled.struct_size = sizeof scaled;
    scaled.postscale = 2;
    for (int i = 0; i < 5; ++i) {
      CHECK(rank.sum() == DTRAIN_OK);
      CHECK(rank.result == std::vector<int32_t>{6, 6, 6});
      CHECK(rank.sum(&scaled) == DTRAIN_OK);
      CHECK(rank.result == std::vector<int32_t>{12, 12, 12});
    }
  }));
}

TEST_CASE("calls that differ are a mismatch, staged, at a vote, and by NCCL, which ends with it") {
  const Variables variables("auto");
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    const auto check_reason = [&] {
      const std::string text = rank.error.text;
      CHECK_MESSAGE(contains(text, "rank 1 sent int32[4], others int32[3]"), text);
    };
    const auto differ = [&] {
      CHECK(rank.sum(nullptr, 0, context.rank() == 1 ? 4 : 3) == DTRAIN_ERROR_MISMATCH);
      check_reason();
      CHECK(std::string_view(rank.error.text).starts_with("all_reduce #"));
    };
    differ();
    rank.reach_nccl();
    differ();
    CHECK(rank.sum() != DTRAIN_OK);
    check_reason();
  }));
}

TEST_CASE("memory of the host at one rank is a mismatch at all, and votes go on") {
  const Variables variables("auto");
  World world({.size = 2, .per_host = 1});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    for (int i = 0; i < 2; ++i) {
      if (context.rank() == 0) {
        CHECK(rank.sum() == DTRAIN_ERROR_MISMATCH);
      } else {
        std::vector<int32_t> values(3);
        const dtrain_buffers buffers = {nullptr, values.data(), 3, DTRAIN_INT32};
        CHECK(dtrain_all_reduce(context.get(), buffers, DTRAIN_SUM, nullptr, &rank.error) ==
              DTRAIN_ERROR_MISMATCH);
      }
      CHECK_MESSAGE(contains(rank.error.text, "memory of the device that NCCL connects"),
                    rank.error.text);
    }
    rank.reach_nccl();
  }));
}

TEST_CASE("a device that NCCL does not connect is a mismatch") {
  const Variables variables("nccl");
  World world({.size = 3, .per_host = 3});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    rank.reach_nccl();
    CHECK(rank.sum(nullptr, context.rank() == 1 ? 1 : 0) == DTRAIN_ERROR_MISMATCH);
    CHECK_MESSAGE(contains(rank.error.text,
                           "gave memory of a device, others memory of the device that NCCL "
                           "connects"),
                  rank.error.text);
  }));
}

/// Two ranks add `calls` times. Returns the sum at rank 1, or the first error there.
std::string sum_of_two(int calls) {
  std::string text;
  World world({.size = 2, .per_host = 2});
  const auto outcomes = world.run([&](dtrain::Context& context) {
    DeviceRank rank(context);
    int status = DTRAIN_OK;
    for (int i = 0; i < calls && status == DTRAIN_OK; ++i)
      status = rank.sum();
    if (context.rank() != 1) return;
    CHECK(dtrain_uses_nccl(context.get()) == 0);
    text = status == DTRAIN_OK ? std::to_string(rank.result[0]) : rank.error.text;
  });
  return outcomes[1].code == DTRAIN_OK ? text : outcomes[1].text;
}

TEST_CASE("without NCCL, calls are staged") {
  const Variables variables("auto", "", "/nowhere/libnccl.so");
  CHECK(sum_of_two(20) == "3");
}

TEST_CASE("the user can choose staging") {
  const Variables variables("staged");
  CHECK(sum_of_two(20) == "3");
}

TEST_CASE("where NCCL cannot make a communicator, calls are staged") {
  const Variables variables("auto", "no_driver");
  CHECK(sum_of_two(20) == "3");
}

TEST_CASE("where NCCL is required, calls fail on all ranks without it") {
  const Variables variables("nccl", "", "/nowhere/libnccl.so");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    const std::string text = rank.first_failure();
    CHECK_MESSAGE(contains(text, "DTRAIN_DEVICE_COLLECTIVES is nccl, "), text);
    // The context stays usable.
    context.barrier();
  }));
}

TEST_CASE("a wrong value of the variable, and one against the job's algorithms, fail the init") {
  {
    const Variables variables("both");
    const std::string text = sum_of_two(1);
    CHECK_MESSAGE(
        contains(text, "DTRAIN_DEVICE_COLLECTIVES is 'both'; it can be staged, auto or nccl"),
        text);
  }
  const Variables variables("nccl");
  World world({.size = 2, .algorithms = "deterministic"});
  for (const RankOutcome& outcome : world.run([](dtrain::Context&) {}))
    CHECK_MESSAGE(contains(outcome.text, "the job has --algorithms or --deterministic"),
                  outcome.text);
}

TEST_CASE("a second context of the same processes connects the devices anew") {
  const Variables variables("nccl");
  World world({.size = 2, .per_host = 2});
  for (int i = 0; i < 2; ++i) {
    check_all_well(world.run([](dtrain::Context& context) {
      DeviceRank rank(context);
      rank.reach_nccl();
      CHECK(rank.sum() == DTRAIN_OK);
      CHECK(rank.result == std::vector<int32_t>{3, 3, 3});
    }));
  }
}

TEST_CASE("a call that NCCL does not end in time fails on all ranks") {
  const Variables variables("nccl", "hang=ncclAllReduce");
  World world({.size = 2, .per_host = 2});
  std::vector<std::string> texts(2);
  check_all_well(world.run([&](dtrain::Context& context) {
    DeviceRank rank(context);
    dtrain_op_options options = {};
    options.struct_size = sizeof options;
    options.timeout_ms = 2000;
    texts[static_cast<size_t>(context.rank())] = rank.first_failure(&options);
  }));
  const std::string both = texts[0] + texts[1];
  CHECK_MESSAGE(contains(both, "NCCL has not ended it in time"), both);
}

TEST_CASE("a rank that leaves while NCCL executes ends the call of the others") {
  const Variables variables("nccl", "hang=ncclAllReduce");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    const DeviceBuffer memory = on_device(cpu.stream(0), std::vector<int32_t>(3));
    dtrain_work* const work = begin_endless_sum(context.get(), memory);
    dtrain_error error = new_error();
    if (context.rank() == 0) {
      context.finalize();
      CHECK(dtrain_work_wait(work, -1, &error) == DTRAIN_ERROR_CLOSED);
    } else {
      CHECK(dtrain_work_wait(work, -1, &error) == DTRAIN_ERROR_PEER_LOST);
      CHECK_MESSAGE(contains(error.text, "rank 0 (host node0) has left the job"), error.text);
      CHECK(error.rank == 0);
    }
    dtrain_work_free(work);
  }));
}

TEST_CASE("a failure of NCCL at one rank fails the calls of all") {
  const Variables variables("nccl", "fail=ncclAllReduce:3");
  World world({.size = 2, .per_host = 2});
  std::vector<std::string> texts(2);
  check_all_well(world.run([&](dtrain::Context& context) {
    DeviceRank rank(context);
    texts[static_cast<size_t>(context.rank())] = rank.first_failure();
    CHECK(rank.sum() != DTRAIN_OK);
  }));
  const std::string both = texts[0] + texts[1];
  CHECK_MESSAGE(contains(both, "ncclAllReduce"), both);
  CHECK_MESSAGE(contains(both, "cannot continue"), both);
}

}  // namespace
}  // namespace dt
