#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

std::string tensor(int thread, int call) {
  return "thread" + std::to_string(thread) + "/" + std::to_string(call);
}

TEST_CASE("threads of each rank call named collectives in any order") {
  constexpr int threads = 4;
  constexpr int calls = 25;
  for (const int per_host : {1, 2}) {
    World world({.size = 2, .per_host = per_host});
    check_all_well(world.run([&](Context& context) {
      std::atomic<int> right = 0;
      const auto submit = [&](int thread) {
        for (int i = 0; i < calls; ++i) {
          const std::string name = tensor(thread, i);
          std::vector<double> own(3, i);
          context.all_reduce(own, dtrain::Op::sum, {.name = name.c_str()});
          if (own == std::vector<double>(3, 2.0 * i)) ++right;
        }
      };
      std::vector<std::thread> running;
      for (int thread = 0; thread < threads; ++thread)
        running.emplace_back(submit, context.rank() == 0 ? thread : threads - 1 - thread);
      for (std::thread& thread : running)
        thread.join();
      CHECK(right == threads * calls);
      context.barrier();
    }));
  }
}

TEST_CASE("gradients that are ready in another order on each rank are all summed") {
  constexpr int tensors = 200;
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([&](Context& context) {
    std::vector<std::vector<float>> gradients;
    for (int i = 0; i < tensors; ++i)
      gradients.emplace_back(static_cast<size_t>(i % 7) + 1, static_cast<float>(i));
    for (int step = 0; step < 3; ++step) {
      std::vector<dtrain::Work> works;
      for (int i = 0; i < tensors; ++i) {
        const int which = (i * 13 + context.rank() * 71 + step) % tensors;
        const std::string name = tensor(step, which);
        works.push_back(context.all_reduce_async(gradients[static_cast<size_t>(which)],
                                                 dtrain::Op::average, {.name = name.c_str()}));
      }
      for (dtrain::Work& work : works)
        work.wait();
    }
    for (int i = 0; i < tensors; ++i)
      CHECK(gradients[static_cast<size_t>(i)].back() == doctest::Approx(i));
  }));
}

TEST_CASE("dtrain_finalize ends a hundred operations in flight") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 2, .per_host = 2, .transport = transport});
    const auto outcomes = world.run([](Context& context) {
      std::vector<std::vector<float>> values(100, std::vector<float>(1000, 1.0F));
      std::vector<dtrain::Work> works;
      // Rank 0 alone calls half of them.
      for (int i = 0; i < 100; ++i) {
        if (context.rank() == 1 && i % 2 == 1) continue;
        const std::string name = i % 4 < 2 ? tensor(0, i) : "";
        works.push_back(context.all_reduce_async(values[static_cast<size_t>(i)], dtrain::Op::sum,
                                                 {.name = name.c_str()}));
      }
      context.finalize();
      for (dtrain::Work& work : works) {
        CHECK(work.done());
        const int code = World::outcome_of([&] { work.wait(); }).code;
        const bool ended =
            code == DTRAIN_OK || code == DTRAIN_ERROR_CLOSED || code == DTRAIN_ERROR_PEER_LOST;
        CHECK(ended);
      }
      // The buffers are the program's again.
      values.clear();
    });
    check_all_well(outcomes);
  }
}

TEST_CASE("tensors without elements match, with and without a name") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    std::vector<float> none;
    for (const char* name : {"", "empty"}) {
      const dtrain::OpOptions options = {.name = name};
      context.all_reduce(none, dtrain::Op::average, options);
      context.broadcast(none, 1, options);
      context.all_gather(none, none, options);
      context.reduce_scatter(none, none, dtrain::Op::max, options);
      context.all_to_all(none, none, options);
      CHECK(context.all_gather_v(none, options).parts<float>().values().empty());
    }
    // A mismatch with a tensor that has elements is one on every rank.
    std::vector<float> values(context.rank() == 2 ? 1 : 0);
    const RankOutcome outcome =
        World::outcome_of([&] { context.all_reduce(values, dtrain::Op::sum, {.name = "x"}); });
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    CHECK(outcome.rank == 2);
  }));
}

}  // namespace
}  // namespace dt
