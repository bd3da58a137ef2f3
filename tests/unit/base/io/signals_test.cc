#include "base/io/signals.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <signal.h>

#include <vector>

namespace dt {
namespace {

/// Sets the disposition of a signal; the destructor restores the old one.
class Disposition {
 public:
  Disposition(int number, void (*handler)(int)) : number_(number) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(number, &action, &before_);
  }
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;
  ~Disposition() { sigaction(number_, &before_, nullptr); }

 private:
  int number_;
  struct sigaction before_ = {};
};

bool is_blocked(int number) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, number) == 1;
}

TEST_CASE("signals arrive on the loop, one call each") {
  const auto loop = Loop::create().value();
  std::vector<int> seen;
  const auto signals = Signals::block(*loop, {SIGUSR1, SIGUSR2}, [&](int number) {
                         seen.push_back(number);
                       }).value();
  raise(SIGUSR1);
  raise(SIGUSR2);
  CHECK(seen.empty());
  run_until(*loop, [&seen] { return seen.size() >= 2; });
  CHECK(seen == std::vector<int>{SIGUSR1, SIGUSR2});
}

TEST_CASE("the mask comes back when Signals is destroyed") {
  const auto loop = Loop::create().value();
  {
    const auto signals = Signals::block(*loop, {SIGUSR1}, [](int) {}).value();
    CHECK(is_blocked(SIGUSR1));
    CHECK(!is_blocked(SIGUSR2));
  }
  CHECK(!is_blocked(SIGUSR1));
}

TEST_CASE("a signal that was inherited as ignored stays ignored") {
  const Disposition nohup(SIGHUP, SIG_IGN);
  const auto loop = Loop::create().value();
  std::vector<int> seen;
  const auto signals =
      Signals::block(*loop, {SIGHUP, SIGUSR1}, [&](int number) { seen.push_back(number); }).value();
  raise(SIGHUP);
  raise(SIGUSR1);
  run_until(*loop, [&seen] { return !seen.empty(); });
  REQUIRE(loop->run_once(Clock::now()));
  CHECK(seen == std::vector<int>{SIGUSR1});
}

TEST_CASE("the handler may destroy the Signals") {
  const auto loop = Loop::create().value();
  std::unique_ptr<Signals> signals;
  std::vector<int> seen;
  const auto mark = std::make_shared<int>(1);
  signals = Signals::block(*loop, {SIGUSR1}, [&signals, &seen, mark](int number) {
              signals.reset();
              seen.push_back(number * *mark);
            }).value();
  raise(SIGUSR1);
  REQUIRE(loop->run_once(Clock::now() + seconds(10)));
  CHECK(seen == std::vector<int>{SIGUSR1});
  CHECK(!is_blocked(SIGUSR1));
  CHECK(mark.use_count() == 1);
}

TEST_CASE("signals have their usual names") {
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(SIGKILL) == "SIGKILL");
  CHECK(signal_name(SIGWINCH) == "SIGWINCH");
  CHECK(signal_name(99) == "signal 99");
  CHECK(signal_name(0) == "signal 0");
  CHECK(signal_name(-1) == "signal -1");
}

}  // namespace
}  // namespace dt
