// Streams, order and failures of operations on memory of devices, in C. Devices of the CPU take the
// place of GPUs.
#include "comm/include/dtrain/dtrain.h"
#include "comm/include/dtrain/dtrain_device.h"
#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/world_fixture.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <latch>
#include <string>
#include <vector>

namespace dt {
namespace {

/// A stream's device, and a call of all_reduce on its memory.
struct Gradient {
  explicit Gradient(DeviceStream& on, std::vector<float> values)
      : stream(on), count(values.size()), memory(on_device(on, std::move(values))) {}
  dtrain_buffers buffers() const { return {nullptr, memory.at(), count, DTRAIN_FLOAT32}; }
  std::vector<float> values() const { return values_of<float>(stream, memory, count); }

  DeviceStream& stream;
  size_t count;
  DeviceBuffer memory;
};

dtrain_op_options with_stream(const CpuDevices& cpu, const char* name = nullptr) {
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.name = name;
  options.stream = cpu.streams[0].get();
  return options;
}

TEST_CASE("a work reads what its stream has written, and a stream that waits for it its results") {
  for (const int size : {1, 3}) {
    World world({.size = size, .per_host = 2});
    check_all_well(world.run([](dtrain::Context& context) {
      Gate gate;
      const CpuDevices cpu({});
      DeviceStream& stream = cpu.stream(0);
      const Gradient gradient(stream, {0, 0});
      const dtrain_op_options options = with_stream(cpu);
      std::vector<float> late = {1, 2};
      REQUIRE(stream.run_on_host([&] { gate.pass(); }).has_value());
      REQUIRE(stream.copy({gradient.memory.at(), bytes_at(late), 8}).has_value());
      dtrain_work* const work =
          dtrain_all_reduce_async(context.get(), gradient.buffers(), DTRAIN_SUM, &options, nullptr);
      REQUIRE(work != nullptr);
      CHECK(dtrain_work_done(work) == 0);
      dtrain_error error = new_error();
      CHECK(dtrain_work_wait_stream(work, nullptr, -1, &error) == DTRAIN_ERROR_INPUT);
      CHECK(contains(error.text, "the default one is DTRAIN_DEFAULT_STREAM"));
      CHECK(dtrain_work_wait_stream(work, &error, -1, &error) == DTRAIN_ERROR_INPUT);
      CHECK(contains(error.text, "cpu:0 has no stream at"));
      // In C++, null is the default one, which a CPU device lacks.
      CHECK(dtrain::detail::c_options({.stream = nullptr}).stream == DTRAIN_DEFAULT_STREAM);
      CHECK(dtrain::detail::c_options({}).stream == nullptr);
      // Its own stream, and another one.
      const auto other = cpu.device(0).make_stream().value();
      std::vector<float> seen(2);
      std::vector<float> seen_there(2);
      CHECK(dtrain_work_wait_stream(work, &stream, 0, nullptr) == DTRAIN_PENDING);
      gate.open();
      for (const auto& [waits, into] :
           {std::pair(&stream, &seen), std::pair(other.get(), &seen_there)}) {
        REQUIRE(dtrain_work_wait_stream(work, waits, -1, &error) == DTRAIN_OK);
        REQUIRE(waits->copy({bytes_at(*into), gradient.memory.at(), 8}).has_value());
      }
      // No thread waits for the work: the library's own thread moves it.
      REQUIRE(other->synchronize(much_later()).has_value());
      REQUIRE(stream.synchronize(much_later()).has_value());
      const auto sum = static_cast<float>(context.size());
      CHECK(seen == std::vector<float>{sum, 2 * sum});
      CHECK(seen_there == seen);
      CHECK(dtrain_work_wait(work, -1, nullptr) == DTRAIN_OK);
      CHECK(dtrain_work_wait_stream(work, &stream, -1, nullptr) == DTRAIN_OK);
      dtrain_times times = {};
      times.struct_size = sizeof times;
      CHECK(dtrain_work_times(work, &times, nullptr) == DTRAIN_OK);
      CHECK(times.submitted_ns <= times.started_ns);
      CHECK(times.started_ns <= times.ended_ns);
      dtrain_work_free(work);
    }));
  }
}

TEST_CASE("calls that follow one with a late input match in the order of the calls") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([&](dtrain::Context& context) {
    Gate gate;
    const CpuDevices cpu({});
    const Gradient gradient(cpu.stream(0), {1, 2, 3});
    const dtrain_op_options options = with_stream(cpu);
    // Only the input of rank 0 is late.
    if (context.rank() == 0) REQUIRE(cpu.stream(0).run_on_host([&] { gate.pass(); }).has_value());
    dtrain_work* const work =
        dtrain_all_reduce_async(context.get(), gradient.buffers(), DTRAIN_SUM, &options, nullptr);
    std::vector<int> host = {context.rank()};
    dtrain::Work after = context.all_reduce_async(host, dtrain::Op::max);
    // A message overtakes both.
    std::vector<int> message = {7};
    if (context.rank() == 0) context.send(message, 1);
    if (context.rank() == 1) context.recv(message, 0);
    gate.open();
    after.wait();
    CHECK(host[0] == 1);
    CHECK(dtrain_work_wait(work, -1, nullptr) == DTRAIN_OK);
    dtrain_work_free(work);
    CHECK(gradient.values() == std::vector<float>{2, 4, 6});
  }));
}

TEST_CASE("lists and operations with counts of their own take memory of devices") {
  World world({.size = 2, .per_host = 1});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    DeviceStream& stream = cpu.stream(0);
    const Gradient one(stream, {1, 2});
    const Gradient other(stream, {5});
    const dtrain_buffers tensors[] = {one.buffers(), other.buffers()};
    const dtrain_tensor_list list = {sizeof list, tensors, 2, nullptr, nullptr};
    REQUIRE(dtrain_all_reduce_list(context.get(), &list, DTRAIN_SUM, nullptr, nullptr) ==
            DTRAIN_OK);
    CHECK(one.values() == std::vector<float>{2, 4});
    CHECK(other.values() == std::vector<float>{10});

    // Rank 0 has no element, and so no memory.
    const Gradient own(stream, {7, 8});
    const size_t count = context.rank() == 0 ? 0 : 2;
    const void* const input = count == 0 ? nullptr : own.memory.at();
    dtrain_work* work = nullptr;
    REQUIRE(dtrain_all_gather_v(context.get(), {input, nullptr, count, DTRAIN_FLOAT32}, &work,
                                nullptr, nullptr) == DTRAIN_OK);
    dtrain_result result = {};
    result.struct_size = sizeof result;
    REQUIRE(dtrain_work_result(work, &result, nullptr) == DTRAIN_OK);
    CHECK(result.count == 2);
    const auto* const data = static_cast<const std::byte*>(result.data);
    const bool on_device = cpu.device(0).place_of(data).kind == MemoryPlace::Kind::device;
    CHECK(on_device == (context.rank() == 1));
    CHECK(static_cast<const float*>(result.data)[1] == 8);
    dtrain_work_free(work);

    const size_t counts[] = {1, 1};
    const dtrain_split_buffers split = {sizeof split, own.memory.at(), counts, DTRAIN_FLOAT32,
                                        DTRAIN_SUM};
    REQUIRE(dtrain_reduce_scatter_v(context.get(), &split, &work, nullptr, nullptr) == DTRAIN_OK);
    REQUIRE(dtrain_work_result(work, &result, nullptr) == DTRAIN_OK);
    CHECK(static_cast<const float*>(result.data)[0] == (context.rank() == 0 ? 14 : 16));
    dtrain_work_free(work);
  }));
}

TEST_CASE("memory of the host here and of a device there is a mismatch that names the rank") {
  World world({.size = 3, .per_host = 3});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    const Gradient gradient(cpu.stream(0), {1, 2});
    std::vector<float> host = {1, 2};
    dtrain_buffers buffers = gradient.buffers();
    if (context.rank() == 1) buffers.output = host.data();
    dtrain_error error = new_error();
    CHECK(dtrain_all_reduce(context.get(), buffers, DTRAIN_SUM, nullptr, &error) ==
          DTRAIN_ERROR_MISMATCH);
    CHECK(error.rank == 1);
    CHECK_MESSAGE(contains(error.text, "rank 1 gave memory of the host, others memory of a device"),
                  error.text);
    // The context stays usable, and a message may have both.
    if (context.rank() == 0)
      CHECK(dtrain_send(context.get(), {gradient.memory.at(), nullptr, 2, DTRAIN_FLOAT32}, 1,
                        nullptr, nullptr) == DTRAIN_OK);
    if (context.rank() == 1) context.recv(host, 0);
    CHECK(host == std::vector<float>{1, 2});
  }));
}

TEST_CASE("ranks that block in calls of different names on memory of devices all learn it") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    const Gradient gradient(cpu.stream(0), {1, 2});
    const dtrain_op_options options = with_stream(cpu, context.rank() == 0 ? "a" : "b");
    CHECK(dtrain_all_reduce(context.get(), gradient.buffers(), DTRAIN_SUM, &options, nullptr) ==
          DTRAIN_ERROR_MISMATCH);
  }));
}

TEST_CASE("wrong memory and wrong streams are refused before anything is sent") {
  const Alone alone;
  const CpuDevices cpu({.count = 2});
  const Gradient gradient(cpu.stream(1), {1, 2});
  std::vector<float> host = {1, 2};
  dtrain_error error = new_error();
  CHECK(dtrain_all_reduce(alone.context, {host.data(), gradient.memory.at(), 2, DTRAIN_FLOAT32},
                          DTRAIN_SUM, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text,
                 "the input lies in memory of the host, and the output in memory of "
                 "cpu:1"));
  const dtrain_op_options options = with_stream(cpu);
  CHECK(dtrain_all_reduce_async(alone.context, gradient.buffers(), DTRAIN_SUM, &options, &error) ==
        nullptr);
  CHECK(contains(error.text, "dtrain_op_options.stream: cpu:1 has no stream at"));
  CHECK(dtrain_barrier(alone.context, &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "no buffer in memory of a device"));
  CHECK(dtrain_all_reduce(alone.context, {nullptr, gradient.memory.at() + 2, 1, DTRAIN_FLOAT32},
                          DTRAIN_SUM, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "not aligned"));
  dtrain_buffers beyond = gradient.buffers();
  beyond.count = 1000;
  CHECK(dtrain_all_reduce(alone.context, beyond, DTRAIN_SUM, nullptr, &error) ==
        DTRAIN_ERROR_INPUT);
  const std::vector<int64_t> row = {0};
  const dtrain_sparse_rows rows = {sizeof rows, row.data(), gradient.memory.at(), 1,
                                   4,           2,          DTRAIN_FLOAT32};
  dtrain_work* work = nullptr;
  CHECK(dtrain_all_reduce_sparse(alone.context, &rows, DTRAIN_SUM, &work, nullptr, &error) ==
        DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "the values of dtrain_sparse_rows lie in memory of cpu:1"));
  CHECK(gradient.values() == std::vector<float>{1, 2});
}

TEST_CASE("a rank that dies before its input is copied ends the operation, with its name") {
  World world({.size = 3, .per_host = 3});
  std::latch waiting(2);
  std::latch ended(2);
  check_all_well(world.run([&](dtrain::Context& context) {
    Gate gate;
    const CpuDevices cpu({});
    const Gradient gradient(cpu.stream(0), {1, 2});
    const dtrain_op_options options = with_stream(cpu);
    const bool dies = context.rank() == 2;
    if (dies) REQUIRE(cpu.stream(0).run_on_host([&] { gate.pass(); }).has_value());
    dtrain_work* const work =
        dtrain_all_reduce_async(context.get(), gradient.buffers(), DTRAIN_SUM, &options, nullptr);
    if (dies) {
      waiting.wait();
      world.server().notify({Notice::Kind::dead, {"worker", 2}, "killed by SIGKILL"});
      ended.wait();
      gate.open();
      context.finalize();
      // This process lives, and the others have announced the call. So it may have succeeded here.
      dtrain_work_wait(work, -1, nullptr);
      dtrain_work_free(work);
      return;
    }
    waiting.count_down();
    dtrain_error error = new_error();
    CHECK(dtrain_work_wait(work, -1, &error) == DTRAIN_ERROR_PEER_LOST);
    CHECK(error.rank == 2);
    CHECK_MESSAGE(contains(error.text, "rank 2"), error.text);
    CHECK_MESSAGE(contains(error.text, "killed by SIGKILL"), error.text);
    dtrain_work_free(work);
    ended.count_down();
    // The stream continues, and nothing was written.
    CHECK(cpu.stream(0).synchronize(much_later()).has_value());
    CHECK(gradient.values() == std::vector<float>{1, 2});
  }));
}

TEST_CASE("a device that fails before its input is copied ends the operations of every rank") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::atomic<bool> fails = false;
    const CpuDevices cpu({.probe = [&](const ProbedCall& probed) -> Result<> {
      if (fails && probed.runs && probed.call == DeviceCall::copy) return fail(Errc::os, "broken");
      return {};
    }});
    const Gradient gradient(cpu.stream(0), {1, 2});
    fails = context.rank() == 1;
    dtrain_error error = new_error();
    const int status =
        dtrain_all_reduce(context.get(), gradient.buffers(), DTRAIN_SUM, nullptr, &error);
    CHECK(status == (context.rank() == 1 ? DTRAIN_ERROR_SYSTEM : DTRAIN_ERROR_PEER_LOST));
    if (context.rank() == 1) CHECK(contains(error.text, "cpu:0 has failed and stays unusable"));
    if (context.rank() == 0) CHECK(error.rank == 1);
    context.finalize();
  }));
}

TEST_CASE("the end of a context waits for copies, and lets the stream continue") {
  World world({.size = 2, .per_host = 2});
  std::latch finalized(1);
  check_all_well(world.run([&](dtrain::Context& context) {
    Gate gate;
    std::atomic<bool> ends = false;
    std::atomic<int> recorded = 0;
    const CpuDevices cpu({.probe = [&](const ProbedCall& probed) -> Result<> {
      if (ends && probed.runs && probed.call == DeviceCall::copy) gate.pass();
      if (probed.runs && probed.call == DeviceCall::record) ++recorded;
      // Only a wait for the copies lets them run.
      if (ends && probed.call == DeviceCall::synchronize) gate.open();
      return {};
    }});
    const Gradient first(cpu.stream(0), {1, 2});
    const Gradient second(cpu.stream(0), {3});
    const dtrain_op_options options = with_stream(cpu);
    // Rank 1 makes no call, so no results are queued.
    std::vector<dtrain_work*> works;
    if (context.rank() == 0) {
      for (const Gradient* gradient : {&first, &second}) {
        works.push_back(dtrain_all_reduce_async(context.get(), gradient->buffers(), DTRAIN_SUM,
                                                &options, nullptr));
        CHECK(dtrain_work_wait_stream(works.back(), options.stream, 0, nullptr) == DTRAIN_PENDING);
      }
      ends = true;
      context.finalize();
      CHECK(recorded == 4);
      finalized.count_down();
    }
    finalized.wait();
    CHECK(cpu.stream(0).synchronize(much_later()).has_value());
    for (dtrain_work* const work : works) {
      CHECK(dtrain_work_wait(work, 0, nullptr) == DTRAIN_ERROR_CLOSED);
      dtrain_work_free(work);
    }
  }));
}

TEST_CASE("a wait of a stream for a work that fails has the reason, and holds nothing") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    const Gradient gradient(cpu.stream(0), {1, 2});
    const dtrain_op_options options = with_stream(cpu);
    const dtrain_op op = context.rank() == 0 ? DTRAIN_SUM : DTRAIN_MAX;
    dtrain_work* const work =
        dtrain_all_reduce_async(context.get(), gradient.buffers(), op, &options, nullptr);
    CHECK(dtrain_work_wait_stream(work, options.stream, -1, nullptr) == DTRAIN_ERROR_MISMATCH);
    CHECK(cpu.stream(0).synchronize(much_later()).has_value());
    CHECK(dtrain_work_wait(work, -1, nullptr) == DTRAIN_ERROR_MISMATCH);
    CHECK(dtrain_work_wait_stream(work, options.stream, -1, nullptr) == DTRAIN_ERROR_MISMATCH);
    dtrain_work_free(work);
  }));
}

TEST_CASE("calls by name on a stream end in any order, also when a stream waits for them") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    const Gradient first(cpu.stream(0), {1});
    const Gradient second(cpu.stream(0), {2});
    std::vector<const Gradient*> order = {&first, &second};
    if (context.rank() == 1) std::swap(order[0], order[1]);
    std::vector<dtrain_work*> works;
    for (const Gradient* const gradient : order) {
      const dtrain_op_options options = with_stream(cpu, gradient == &first ? "a" : "b");
      works.push_back(dtrain_all_reduce_async(context.get(), gradient->buffers(), DTRAIN_SUM,
                                              &options, nullptr));
    }
    for (dtrain_work* const work : works)
      CHECK(dtrain_work_wait_stream(work, &cpu.stream(0), -1, nullptr) == DTRAIN_OK);
    CHECK(first.values() == std::vector<float>{2});
    CHECK(second.values() == std::vector<float>{4});
    for (dtrain_work* const work : works)
      dtrain_work_free(work);
  }));
}

TEST_CASE("a call after the end of the job's context holds no stream") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const CpuDevices cpu({});
    const Gradient gradient(cpu.stream(0), {1, 2});
    const dtrain_op_options options = with_stream(cpu);
    const dtrain::Context group = context.split(0, 0).value();
    context.finalize();
    dtrain_error error = new_error();
    CHECK(dtrain_all_reduce(group.get(), gradient.buffers(), DTRAIN_SUM, &options, &error) ==
          DTRAIN_ERROR_CLOSED);
    CHECK(cpu.stream(0).synchronize(much_later()).has_value());
  }));
}

TEST_CASE("the end of a group waits for its copies alone") {
  World world({.size = 2, .per_host = 2});
  Gate of_group;
  Gate of_job;
  std::atomic<bool> opened = false;
  std::promise<void> finalized;
  check_all_well(world.run([&](dtrain::Context& context) {
    const CpuDevices cpu({});
    const auto other = cpu.device(0).make_stream().value();
    const Gradient gradient(cpu.stream(0), {1, 2});
    const Gradient shared(*other, {3});
    const dtrain_op_options options = with_stream(cpu);
    dtrain_op_options others_options = options;
    others_options.stream = other.get();
    dtrain::Context group = context.split(0, 0).value();
    if (context.rank() == 0) {
      REQUIRE(cpu.stream(0).run_on_host([&] { of_group.pass(); }).has_value());
      REQUIRE(other->run_on_host([&] { of_job.pass(); }).has_value());
      dtrain_work* const work =
          dtrain_all_reduce_async(group.get(), gradient.buffers(), DTRAIN_SUM, &options, nullptr);
      dtrain_work* const jobs_work = dtrain_all_reduce_async(context.get(), shared.buffers(),
                                                             DTRAIN_SUM, &others_options, nullptr);
      group.finalize();
      CHECK(opened);
      CHECK(dtrain_work_wait(work, 0, nullptr) == DTRAIN_ERROR_CLOSED);
      CHECK(dtrain_work_done(jobs_work) == 0);
      finalized.set_value();
      CHECK(dtrain_work_wait(jobs_work, -1, nullptr) == DTRAIN_OK);
      dtrain_work_free(work);
      dtrain_work_free(jobs_work);
    } else {
      std::vector<int> host = {0};
      // It fails when rank 0 has left the group, and then waits for its copy.
      CHECK_THROWS_AS(group.all_reduce(host), dtrain::Error);
      opened = true;
      of_group.open();
      CHECK(finalized.get_future().wait_until(much_later()) == std::future_status::ready);
      of_job.open();
      REQUIRE(dtrain_all_reduce(context.get(), shared.buffers(), DTRAIN_SUM, &others_options,
                                nullptr) == DTRAIN_OK);
    }
    CHECK(shared.values() == std::vector<float>{6});
    CHECK(gradient.values() == std::vector<float>{1, 2});
  }));
}

TEST_CASE("a forked child cannot use memory of its parent's devices") {
  const Alone alone;
  const CpuDevices cpu({});
  const Gradient gradient(cpu.stream(0), {1, 2});
  REQUIRE(dtrain_all_reduce(alone.context, gradient.buffers(), DTRAIN_SUM, nullptr, nullptr) ==
          DTRAIN_OK);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dtrain_error error = new_error();
    const int status =
        dtrain_all_reduce(alone.context, gradient.buffers(), DTRAIN_SUM, nullptr, &error);
    _exit(status == DTRAIN_ERROR_INPUT && contains(error.text, "fork") ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a caller of the header before streams has the same operations") {
  const Alone alone;
  const CpuDevices cpu({});
  const Gradient gradient(cpu.stream(0), {1, 2});
  dtrain_op_options options = {};
  options.struct_size = offsetof(dtrain_op_options, stream);
  options.stream = &options;  // another variable of that caller
  CHECK(dtrain_all_reduce(alone.context, gradient.buffers(), DTRAIN_SUM, &options, nullptr) ==
        DTRAIN_OK);
  CHECK(gradient.values() == std::vector<float>{1, 2});
}

}  // namespace
}  // namespace dt
