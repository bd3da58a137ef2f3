#include "base/io/loop.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <optional>
#include <vector>

namespace dt {
namespace {

/// A loop, and a pipe with one byte in it.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Pipe pipe = make_pipe().value();

  Fixture() { REQUIRE(::write(pipe.write.get(), "x", 1) == 1); }
  void round() const { REQUIRE(loop->run_once(Clock::now() + seconds(10))); }
  /// A round without waiting.
  void glance() const { REQUIRE(loop->run_once(Clock::now())); }
};

TEST_CASE("a handler runs again and again while its event lasts") {
  const Fixture f;
  int calls = 0;
  const Watch watch = f.loop
                          ->watch(f.pipe.read.get(), EPOLLIN,
                                  [&](uint32_t events) {
                                    CHECK(events == EPOLLIN);
                                    ++calls;
                                  })
                          .value();
  f.round();
  f.round();
  CHECK(calls == 2);
}

TEST_CASE("a Watch ends with its object, and moving it moves the watching") {
  const Fixture f;
  int calls = 0;
  std::optional<Watch> second;
  {
    Watch first = f.loop->watch(f.pipe.read.get(), EPOLLIN, [&](uint32_t) { ++calls; }).value();
    second = std::move(first);
  }
  f.glance();
  CHECK(calls == 1);
  *second = Watch();
  CHECK(!*second);
  f.glance();
  CHECK(calls == 1);
}

TEST_CASE("set_events changes what is waited for") {
  const Fixture f;
  int calls = 0;
  Watch watch = f.loop->watch(f.pipe.read.get(), 0, [&](uint32_t) { ++calls; }).value();
  f.glance();
  CHECK(calls == 0);
  watch.set_events(EPOLLIN);
  f.glance();
  CHECK(calls == 1);
  watch.set_events(0);
  f.glance();
  CHECK(calls == 1);
}

TEST_CASE("a hang-up that nobody waits for does not keep the loop busy") {
  Fixture f;
  int calls = 0;
  const Watch watch = f.loop->watch(f.pipe.read.get(), 0, [&](uint32_t) { ++calls; }).value();
  f.pipe.write.reset();
  for (int i = 0; i < 10; ++i)
    f.glance();
  CHECK(calls <= 1);
}

TEST_CASE("a handler may destroy its own Watch and still use what it captured") {
  const Fixture f;
  std::optional<Watch> watch;
  std::vector<int> seen;
  const auto mark = std::make_shared<int>(7);
  watch = f.loop
              ->watch(f.pipe.read.get(), EPOLLIN,
                      [&seen, &watch, mark](uint32_t) {
                        watch.reset();
                        seen.push_back(*mark);
                      })
              .value();
  f.round();
  f.glance();
  CHECK(seen == std::vector<int>{7});
  CHECK(mark.use_count() == 1);
}

TEST_CASE("a handler may destroy another Watch whose event came in the same round") {
  const Fixture f;
  const Pipe other = make_pipe().value();
  REQUIRE(::write(other.write.get(), "x", 1) == 1);
  std::optional<Watch> a;
  std::optional<Watch> b;
  int calls = 0;
  a = f.loop
          ->watch(f.pipe.read.get(), EPOLLIN,
                  [&](uint32_t) {
                    ++calls;
                    b.reset();
                  })
          .value();
  b = f.loop
          ->watch(other.read.get(), EPOLLIN,
                  [&](uint32_t) {
                    ++calls;
                    a.reset();
                  })
          .value();
  f.round();
  CHECK(calls == 1);
}

TEST_CASE("a descriptor's events do not reach the next descriptor of the same number") {
  Fixture f;
  Pipe other = make_pipe().value();
  REQUIRE(::write(other.write.get(), "x", 1) == 1);
  std::optional<Watch> first;
  std::optional<Watch> second;
  std::optional<Watch> fresh;
  int fresh_calls = 0;
  const auto replace = [&](std::optional<Watch>& watch, Fd& fd) {
    const int number = fd.get();
    watch.reset();
    fd.reset();
    fd = duplicate(f.pipe.write.get()).value();
    CHECK(fd.get() == number);
    fresh = f.loop->watch(number, 0, [&](uint32_t) { ++fresh_calls; }).value();
  };
  first = f.loop
              ->watch(f.pipe.read.get(), EPOLLIN,
                      [&](uint32_t) {
                        if (!fresh) replace(second, other.read);
                      })
              .value();
  second = f.loop
               ->watch(other.read.get(), EPOLLIN,
                       [&](uint32_t) {
                         if (!fresh) replace(first, f.pipe.read);
                       })
               .value();
  f.round();
  CHECK(fresh_calls == 0);
}

TEST_CASE("what epoll cannot watch is an error") {
  const Fixture f;
  const Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto refused = f.loop->watch(file.get(), EPOLLIN, [](uint32_t) {});
  REQUIRE(!refused);
  CHECK(refused.error().message == "cannot watch a descriptor: Operation not permitted");
}

TEST_CASE("timers run once, in the order of their times, not before them") {
  const Fixture f;
  std::vector<int> order;
  const Time start = Clock::now();
  const Timer late = f.loop->at(start + milliseconds(20), [&] {
    CHECK(Clock::now() >= start + milliseconds(20));
    order.push_back(2);
    f.loop->stop();
  });
  const Timer early = f.loop->at(start + milliseconds(5), [&] { order.push_back(1); });
  REQUIRE(f.loop->run());
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("a Timer is true until it has run, and destroying it cancels it") {
  const Fixture f;
  int calls = 0;
  Timer none;
  CHECK(!none);
  Timer due = f.loop->after(milliseconds(0), [&] { ++calls; });
  CHECK(due);
  std::optional<Timer> cancelled = f.loop->after(milliseconds(0), [&] { calls += 100; });
  cancelled.reset();
  none = std::move(due);
  CHECK(none);
  REQUIRE(f.loop->run_once(Clock::now() + seconds(1)));
  CHECK(calls == 1);
  CHECK(!none);
}

TEST_CASE("a timer's callback may start it anew or destroy it") {
  const Fixture f;
  Timer timer;
  int calls = 0;
  const std::function<void()> again = [&] {
    timer = ++calls < 3 ? f.loop->after(milliseconds(1), again) : Timer();
    if (calls == 3) f.loop->stop();
  };
  timer = f.loop->after(milliseconds(0), again);
  REQUIRE(f.loop->run());
  CHECK(calls == 3);
  CHECK(!timer);
}

TEST_CASE("run_once returns at its deadline when nothing happens") {
  const Fixture f;
  const Time deadline = Clock::now() + milliseconds(5);
  REQUIRE(f.loop->run_once(deadline));
  CHECK(Clock::now() >= deadline);
}

TEST_CASE("a loop that was stopped can run again") {
  const Fixture f;
  int calls = 0;
  const Watch watch = f.loop
                          ->watch(f.pipe.read.get(), EPOLLIN,
                                  [&](uint32_t) {
                                    ++calls;
                                    f.loop->stop();
                                  })
                          .value();
  REQUIRE(f.loop->run());
  CHECK(calls == 1);
  f.round();
  CHECK(calls == 2);
  REQUIRE(f.loop->run());
  CHECK(calls == 3);
}

}  // namespace
}  // namespace dt
