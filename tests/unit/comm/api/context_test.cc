#include "comm/include/dtrain/dtrain.hpp"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;
using dtrain::Op;
using dtrain::Transport;

/// Sets of ranks with different links: one host, one host by TCP, two hosts, three of one rank.
std::vector<World::Options> all_transports() {
  return {{.size = 4, .per_host = 4},
          {.size = 4, .per_host = 4, .transport = Transport::shm},
          {.size = 4, .per_host = 4, .transport = Transport::tcp},
          {.size = 4, .per_host = 2},
          {.size = 3, .per_host = 1},
          {.size = 5, .per_host = 2},
          {.size = 1, .per_host = 1}};
}

template <class T>
std::vector<T> numbers(size_t count, T first) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Every operation once, with `count` int32 elements.
void check_all_operations(Context& world, size_t count) {
  CAPTURE(count);
  const int size = world.size();
  const int rank = world.rank();

  auto values = numbers<int32_t>(count, rank);
  world.all_reduce(values);
  std::vector<int32_t> sums(count);
  for (size_t i = 0; i < count; ++i)
    sums[i] = static_cast<int32_t>(i) * size + size * (size - 1) / 2;
  CHECK(values == sums);

  auto copy = rank == size - 1 ? numbers<int32_t>(count, 7) : std::vector<int32_t>(count);
  world.broadcast(copy, size - 1);
  CHECK(copy == numbers<int32_t>(count, 7));

  std::vector<int32_t> all(count * static_cast<size_t>(size));
  const auto mine = numbers<int32_t>(count, rank * 1000);
  world.all_gather(mine, all);
  for (int from = 0; from < size; ++from) {
    const auto part = std::span(all).subspan(static_cast<size_t>(from) * count, count);
    CHECK(std::ranges::equal(part, numbers<int32_t>(count, from * 1000)));
  }

  std::vector<int32_t> part(count);
  world.reduce_scatter(all, part, Op::max);
  CHECK(part == numbers<int32_t>(count, rank * 1000));
  world.barrier();
}

TEST_CASE("every operation gives its result on every transport, for small and large arrays") {
  for (const World::Options& options : all_transports()) {
    CAPTURE(options.size);
    CAPTURE(options.per_host);
    World world(options);
    check_all_well(world.run([](Context& context) {
      for (const size_t count : std::initializer_list<size_t>{0, 1, 3, 1000, 300'001})
        check_all_operations(context, count);
    }));
  }
}

TEST_CASE("a process that has finalized joins the job again, with a new engine") {
  for (const World::Options& options : all_transports()) {
    World world(options);
    check_all_well(world.on_threads([&](int rank) {
      for (int turn = 1; turn <= 5; ++turn) {
        Context context = dtrain::init(world.init_options(rank));
        std::vector<int32_t> sum = {turn};
        context.all_reduce(sum, Op::sum, {.name = "g"});
        CHECK(sum[0] == turn * context.size());
        context.finalize();
      }
    }));
  }
}

TEST_CASE("ranks send to and receive from each other beside the collectives") {
  for (const World::Options& options : all_transports()) {
    World world(options);
    check_all_well(world.run([](Context& context) {
      const int size = context.size();
      if (size == 1) return;
      const int to = (context.rank() + 1) % size;
      const int from = (context.rank() + size - 1) % size;
      const auto sent = numbers<int64_t>(100'000, context.rank());
      std::vector<int64_t> got(sent.size());
      std::vector<float> sum = {1};
      dtrain::Work sending = context.send_async(sent, to);
      context.all_reduce(sum);
      context.recv(got, from);
      sending.wait();
      CHECK(got == numbers<int64_t>(100'000, from));
      CHECK(sum[0] == static_cast<float>(size));
    }));
  }
}

template <class T>
void check_type(Context& world) {
  std::vector<T> values(100, T(3));
  world.all_reduce(values, Op::sum);
  CHECK(values == std::vector<T>(100, static_cast<T>(3 * world.size())));
  world.all_reduce(values, Op::min);
  values.assign(100, T(2));
  world.all_reduce(values, Op::product);
  CHECK(values == std::vector<T>(100, static_cast<T>(1 << world.size())));
}

TEST_CASE("every element type is reduced as what it is") {
  World world({.size = 3, .per_host = 3});
  check_all_well(world.run([](Context& context) {
    check_type<int8_t>(context);
    check_type<uint8_t>(context);
    check_type<int32_t>(context);
    check_type<uint32_t>(context);
    check_type<int64_t>(context);
    check_type<uint64_t>(context);
    check_type<float>(context);
    check_type<double>(context);
    // 1.5 and 4.5 in both 16-bit formats.
    std::vector<dtrain::float16> halves(10, dtrain::float16{0x3E00});
    context.all_reduce(halves);
    CHECK(halves[9].bits == 0x4480);
    std::vector<dtrain::bfloat16> upper(10, dtrain::bfloat16{0x3FC0});
    context.all_reduce(upper);
    CHECK(upper[9].bits == 0x4090);
    // 1.5 and 4.5, and 1.5 and the even neighbour of 4.5, which is 4.
    std::vector<dtrain::float8_e4m3> small(10, dtrain::float8_e4m3{0x3C});
    context.all_reduce(small);
    CHECK(small[9].bits == 0x49);
    std::vector<dtrain::float8_e5m2> smaller(10, dtrain::float8_e5m2{0x3E});
    context.all_reduce(smaller);
    CHECK(smaller[9].bits == 0x44);
    std::vector<float> average(10, static_cast<float>(context.rank()));
    context.all_reduce(average, Op::average);
    CHECK(average[3] == 1.0F);
  }));
}

TEST_CASE("the result of a reduction is the same bits on every rank") {
  for (const World::Options& options : all_transports()) {
    CAPTURE(options.size);
    World world(options);
    std::mutex mutex;
    std::vector<std::vector<float>> results;
    check_all_well(world.run([&](Context& context) {
      std::minstd_rand random(static_cast<unsigned>(context.rank()) + 1);
      std::uniform_real_distribution<float> between(-1e3F, 1e3F);
      for (const size_t count : std::initializer_list<size_t>{7, 4096, 100'003}) {
        std::vector<float> values(count);
        for (float& value : values)
          value = between(random);
        context.all_reduce(values, Op::average);
        const std::lock_guard lock(mutex);
        results.push_back(std::move(values));
      }
    }));
    for (const auto& one : results) {
      for (const auto& other : results) {
        if (one.size() != other.size()) continue;
        CHECK(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("ranks know their layout on hosts") {
  World world({.size = 5, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    const int rank = context.rank();
    CHECK(context.size() == 5);
    CHECK(context.local_rank() == rank % 2);
    CHECK(context.local_size() == (rank == 4 ? 1 : 2));
    CHECK(context.cross_rank() == rank / 2);
    CHECK(context.cross_size() == (rank % 2 == 0 ? 3 : 2));
    CHECK(context.host() == "node" + std::to_string(rank / 2));
  }));
}

}  // namespace
}  // namespace dt
