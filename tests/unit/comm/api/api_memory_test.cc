#include "comm/include/dtrain/dtrain_memory.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

TEST_CASE("memory is zeroed, aligned, and freed once") {
  const Alone alone;
  dtrain_error error = new_error();
  void* memory = nullptr;
  REQUIRE(dtrain_alloc(alone.context, 100'000, &memory, &error) == DTRAIN_OK);
  CHECK(reinterpret_cast<uintptr_t>(memory) % 4096 == 0);
  CHECK(static_cast<char*>(memory)[99'999] == 0);
  CHECK(dtrain_free(alone.context, static_cast<char*>(memory) + 1, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_free(alone.context, memory, &error) == DTRAIN_OK);
  CHECK(dtrain_free(alone.context, memory, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "freed before"));
  CHECK(dtrain_free(alone.context, nullptr, nullptr) == DTRAIN_OK);
}

TEST_CASE("wrong arguments and too much memory are errors, and give no memory") {
  const Alone alone;
  dtrain_error error = new_error();
  void* memory = &error;
  CHECK(dtrain_alloc(alone.context, 1, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_alloc(nullptr, 1, &memory, &error) == DTRAIN_ERROR_INPUT);
  CHECK(memory == nullptr);
  memory = &error;
  CHECK(dtrain_alloc(alone.context, SIZE_MAX, &memory, &error) == DTRAIN_ERROR_SYSTEM);
  CHECK(memory == nullptr);
  CHECK(dtrain_free(nullptr, &error, &error) == DTRAIN_ERROR_INPUT);
  // The refusal concerns that call only.
  float value = 3;
  CHECK(dtrain_all_reduce(alone.context, {nullptr, &value, 1, DTRAIN_FLOAT32}, DTRAIN_SUM, nullptr,
                          &error) == DTRAIN_OK);
}

TEST_CASE("a child of fork cannot allocate with its parent's context") {
  const Alone alone;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    void* memory = nullptr;
    _exit(dtrain_alloc(alone.context, 1, &memory, nullptr) == DTRAIN_ERROR_INPUT ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

/// Runs collectives of all kinds, large and small, in memory of the library.
void use_buffers(dtrain::Context& all, size_t count) {
  const auto size = static_cast<size_t>(all.size());
  const auto rank = static_cast<size_t>(all.rank());
  dtrain::Buffer<int> values = all.alloc<int>(count);
  dtrain::Buffer<int> whole = all.alloc<int>(count * size);
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < count; ++i)
      values[i] = static_cast<int>(i + rank) + round;
    all.all_gather(values, whole);
    size_t wrong = 0;
    for (size_t i = 0; i < whole.size(); ++i)
      wrong += whole[i] != static_cast<int>(i % count + i / count) + round;
    all.reduce_scatter(whole, values);
    for (size_t i = 0; i < count; ++i)
      wrong += values[i] != all.size() * (static_cast<int>(i + rank) + round);
    all.all_reduce(values, dtrain::Op::max);
    for (size_t i = 0; i < count; ++i)
      wrong += values[i] != all.size() * (static_cast<int>(i + size - 1) + round);
    values[count - 1] = static_cast<int>(rank);
    all.broadcast(values, 1);
    wrong += values[count - 1] != 1;
    CHECK(wrong == 0);
  }
}

/// True when the address lies in a file that processes may share.
bool is_shared(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const uintptr_t begin = std::stoull(line, nullptr, 16);
    const uintptr_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    if (at >= begin && at < end) return contains(line, "/memfd:");
  }
  return false;
}

TEST_CASE("memory is shared where a host has several ranks, also beside other hosts") {
  for (const int per_host : {4, 2, 1}) {
    CAPTURE(per_host);
    World world({.size = 4, .per_host = per_host});
    check_all_well(world.run([&](dtrain::Context& all) {
      const dtrain::Buffer<int> values = all.alloc<int>(1000);
      CHECK(is_shared(values.data()) == (per_host > 1));
    }));
  }
}

TEST_CASE("collectives have exact results in memory of the library, wherever the ranks are") {
  for (const int per_host : {4, 2, 1}) {
    CAPTURE(per_host);
    World world({.size = 4, .per_host = per_host});
    check_all_well(world.run([](dtrain::Context& all) {
      for (const size_t count : {10, 5'000, 200'000})
        use_buffers(all, count);
    }));
  }
  World tcp({.size = 3, .transport = dtrain::Transport::tcp});
  check_all_well(tcp.run([](dtrain::Context& all) { use_buffers(all, 50'000); }));
}

TEST_CASE("asynchronous operations of several threads use buffers of one allocation") {
  World world({.size = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    constexpr size_t count = 60'000;
    dtrain::Buffer<double> values = all.alloc<double>(8 * count);
    std::ranges::fill(values, 1.5);
    std::vector<dtrain::Work> works;
    for (size_t part = 0; part < 8; ++part)
      works.push_back(all.all_reduce_async(std::span(values.data() + part * count, count)));
    std::thread other([&] {
      for (int i = 0; i < 20; ++i)
        all.alloc<char>(100'000)[99'999] = 'x';
    });
    for (dtrain::Work& work : works)
      work.wait();
    other.join();
    for (const double value : values)
      if (value != 3) FAIL("a wrong sum");
  }));
}

TEST_CASE("a group's context may free the job's memory, and its end frees nothing") {
  World world({.size = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    dtrain_error error = new_error();
    void* memory = nullptr;
    REQUIRE(dtrain_alloc(all.get(), 10, &memory, &error) == DTRAIN_OK);
    void* other = nullptr;
    {
      dtrain::Context group = all.split(all.rank()).value();
      REQUIRE(dtrain_alloc(group.get(), 10, &other, &error) == DTRAIN_OK);
      CHECK(dtrain_free(group.get(), memory, &error) == DTRAIN_OK);
    }
    std::memset(other, 1, 10);
    CHECK(dtrain_free(all.get(), other, &error) == DTRAIN_OK);
  }));
}

TEST_CASE("after a time limit, the memory of its call can be written and freed") {
  World world({.size = 3});
  check_all_well(world.run([](dtrain::Context& all) {
    constexpr size_t count = 3'000'000;
    dtrain::Buffer<float> values = all.alloc<float>(count);
    all.all_reduce(values);
    int code = DTRAIN_OK;
    try {
      // Rank 2 comes when the others have failed.
      if (all.rank() == 2) all.store().wait("failed");
      all.all_reduce(values, {}, {.timeout = std::chrono::milliseconds(20)});
    } catch (const dtrain::Error& error) {
      code = error.code();
    }
    CHECK(code == DTRAIN_ERROR_TIMEOUT);
    all.store().set("failed", "");
    std::ranges::fill(values, 7.0F);
    values = all.alloc<float>(count);
    CHECK(std::ranges::count(values, 0.0F) == count);
    // Nobody leaves while another rank's call may still run.
    if (all.store().add("done", 1) == 3) all.store().set("all done", "");
    all.store().wait("all done");
  }));
}

}  // namespace
}  // namespace dt
