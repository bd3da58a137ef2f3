#include "comm/driver/driver.h"

#include "tests/unit/comm/api/world_fixture.h"
#include "tests/unit/comm/transport/memory_link.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <cstddef>
#include <initializer_list>
#include <latch>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

TEST_CASE("asynchronous works proceed without being waited for, and end in any order of waiting") {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    constexpr size_t works = 50;
    std::vector<std::vector<float>> arrays(works, std::vector<float>(5000, 1.0F));
    std::vector<dtrain::Work> pending;
    for (auto& array : arrays)
      pending.push_back(context.all_reduce_async(array));
    for (size_t i = works; i-- > 0;) {
      pending[i].wait();
      CHECK(pending[i].done());
      CHECK(arrays[i].back() == 4.0F);
    }
  }));
}

TEST_CASE("the background thread moves works that nobody waits for") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    std::vector<float> values(200'000, 1.0F);
    const dtrain::Work work = context.all_reduce_async(values);
    const Time end = Clock::now() + seconds(20);
    while (!work.done() && Clock::now() < end)
      std::this_thread::yield();
    CHECK(work.done());
    CHECK(values.front() == 3.0F);
  }));
}

TEST_CASE("wait_for reports that a work is still pending, and the work proceeds") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    std::vector<int> values = {1};
    if (context.rank() == 0) {
      dtrain::Work work = context.recv_async(values, 1);
      CHECK(!work.wait_for(std::chrono::milliseconds(0)));
      CHECK(!work.wait_for(std::chrono::milliseconds(20)));
      context.barrier();
      work.wait();
      CHECK(values[0] == 5);
    } else {
      context.barrier();
      values[0] = 5;
      context.send(values, 0);
    }
  }));
}

TEST_CASE("several threads of a rank use one context at a time") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    constexpr int messages = 200;
    const int other = 1 - context.rank();
    std::thread receiver([&] {
      for (int i = 0; i < messages; ++i) {
        std::vector<int> got(1);
        context.recv(got, other);
        CHECK(got[0] == i);
      }
    });
    std::thread reducer([&] {
      for (int i = 0; i < messages; ++i) {
        std::vector<int> values(10, i);
        context.all_reduce(values);
        CHECK(values[0] == 2 * i);
      }
    });
    for (int i = 0; i < messages; ++i) {
      const std::vector<int> one = {i};
      context.send(one, other);
    }
    receiver.join();
    reducer.join();
  }));
}

/// A link whose first read finds no memory.
class PoorLink final : public Link {
 public:
  explicit PoorLink(std::unique_ptr<Link> link) : link_(std::move(link)) {}
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    return link_->send_parts(parts);
  }
  Result<size_t> receive(std::span<std::byte> into) override {
    if (!thrown_) {
      thrown_ = true;
      throw std::bad_alloc();
    }
    return link_->receive(into);
  }
  bool exposed() const override { return false; }
  void close() override { link_->close(); }

 private:
  std::unique_ptr<Link> link_;
  bool thrown_ = false;
};

std::unique_ptr<Engine> one_of_two(int rank, std::unique_ptr<Link> link,
                                   Duration dead_after = seconds(5)) {
  std::vector<Engine::Peer> peers(2);
  for (int i = 0; i < 2; ++i)
    peers[static_cast<size_t>(i)].task = {.id = {"worker", i}, .rank = i};
  peers[static_cast<size_t>(1 - rank)].link = std::move(link);
  return std::make_unique<Engine>(Engine::Options{.rank = rank, .dead_after = dead_after},
                                  std::move(peers));
}

TEST_CASE("memory that runs out ends all operations, and the other ranks learn it") {
  const auto there = std::make_shared<MemoryPipe>();
  const auto back = std::make_shared<MemoryPipe>();
  Driver poor({.engine = one_of_two(
                   0, std::make_unique<PoorLink>(std::make_unique<MemoryLink>(there, back)))});
  const auto other = one_of_two(1, std::make_unique<MemoryLink>(back, there));
  const auto theirs = other->submit({.kind = OperationKind::barrier}, Clock::now());

  const Driver::Work work = poor.start({.kind = OperationKind::barrier});
  const auto outcome = poor.wait(work, Clock::now() + seconds(20));
  REQUIRE(outcome);
  REQUIRE(!*outcome);
  CHECK(outcome->error().code == Errc::os);
  // The announcement of its abort leaves with the next step.
  const Driver::Work later = poor.start({.kind = OperationKind::barrier});
  CHECK(poor.done(later));
  while (other->step(Clock::now())) {
  }
  REQUIRE(theirs->outcome);
  CHECK(theirs->outcome->error().code == Errc::peer_lost);
  CHECK(theirs->blamed_rank == 0);
}

/// A link whose reads wait for the test.
class SlowLink final : public Link {
 public:
  struct Latches {
    std::latch reading = std::latch(1);
    std::latch go_on = std::latch(1);
  };
  explicit SlowLink(Latches& latches) : latches_(latches) {}
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    size_t bytes = 0;
    for (const ByteSpan part : parts)
      bytes += part.size();
    return bytes;
  }
  Result<size_t> receive(std::span<std::byte>) override {
    if (!read_) latches_.reading.count_down();
    read_ = true;
    latches_.go_on.wait();
    return fail(Errc::closed, "closed");
  }
  bool exposed() const override { return false; }
  void close() override {}

 private:
  Latches& latches_;
  bool read_ = false;
};

TEST_CASE("a thread that starts an operation does not wait for the step of another thread") {
  SlowLink::Latches latches;
  Driver driver({.engine = one_of_two(0, std::make_unique<SlowLink>(latches), Duration::zero())});
  const OperationRequest barrier = {.kind = OperationKind::barrier};
  std::thread stepper([&] { static_cast<void>(driver.run(OperationRequest(barrier))); });
  latches.reading.wait();
  const Driver::Work first = driver.start(barrier);
  const Driver::Work second = driver.start(barrier);
  latches.go_on.count_down();
  // The stepper takes both from the inbox before its step ends; its call fails with the link.
  stepper.join();
  for (const Driver::Work& work : {first, second})
    CHECK(!driver.wait(work, Time::max())->has_value());
  CHECK(first->sequence == 2);
  CHECK(second->sequence == 3);
}

TEST_CASE("waiting with a time limit of zero does not wake the thread that drives") {
  World world({.size = 2, .per_host = 2});
  std::latch polled(1);
  check_all_well(world.run([&](Context& context) {
    std::vector<int> values = {1};
    if (context.rank() == 1) {
      polled.wait();
      context.send(values, 0);
      return;
    }
    dtrain::Work work = context.recv_async(values, 1);
    rusage before = {};
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 2000; ++i)
      CHECK(!work.wait_for(std::chrono::milliseconds(0)));
    rusage after = {};
    getrusage(RUSAGE_SELF, &after);
    polled.count_down();
    CHECK(after.ru_nvcsw - before.ru_nvcsw < 500);
    work.wait();
  }));
}

TEST_CASE("many threads start, wait and call at the same time") {
  for (const int size : {1, 2}) {
    World world({.size = size, .per_host = 2});
    check_all_well(world.run([](Context& context) {
      const auto lone_calls = [&] {
        for (int i = 0; i < 300; ++i) {
          std::vector<int> value = {i};
          dtrain::Work work = context.all_reduce_async(value);
          context.barrier();
          work.wait();
          CHECK(value[0] == i);
        }
      };
      const auto messages = [&] {
        const int other = 1 - context.rank();
        for (int i = 0; i < 300; ++i) {
          const std::vector<int> sent = {1};
          std::vector<int> got = {0};
          dtrain::Work sending = context.send_async(sent, other);
          dtrain::Work receiving = context.recv_async(got, other);
          sending.wait();
          receiving.wait();
          CHECK(got[0] == 1);
        }
      };
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) {
        if (context.size() == 1) threads.emplace_back(lone_calls);
        if (context.size() == 2) threads.emplace_back(messages);
      }
      for (std::thread& thread : threads)
        thread.join();
    }));
  }
}

TEST_CASE("a request to the store ends when the driver finishes") {
  std::vector<Engine::Peer> peers(1);
  Driver driver({.engine = std::make_unique<Engine>(Engine::Options(), std::move(peers))});
  std::thread waiter([&] {
    const auto answer = driver.ask(WaitRequest{"never", timeout_max}, Time::max());
    CHECK(answer.error().code == Errc::closed);
  });
  driver.finish();
  waiter.join();
  CHECK(driver.ask(GetRequest{"k"}, Time::max()).error().code == Errc::closed);
}

/// How often this thread has slept.
long sleeps() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST_CASE("threads that wait for what does not come let each other sleep") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    if (context.rank() == 0) {
      const auto wait_in_vain = [&](int value) {
        std::vector<int> got = {value};
        const long before = sleeps();
        const dtrain::OpOptions options = {.timeout = std::chrono::milliseconds(500)};
        CHECK_THROWS_AS(context.recv(got, 1, options), dtrain::Error);
        CHECK(sleeps() - before < 200);
      };
      std::thread one(wait_in_vain, 1);
      std::thread other(wait_in_vain, 2);
      one.join();
      other.join();
    }
    context.barrier();
  }));
}

}  // namespace
}  // namespace dt
