#include "base/io/blocked_signals.h"

#include <doctest/doctest.h>

#include <thread>

namespace dt {
namespace {

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST_CASE("signals are blocked in a scope, and in the threads that it starts") {
  CHECK(!is_blocked(SIGINT));
  bool in_thread = false;
  std::thread started;
  {
    const BlockedSignals blocked;
    CHECK(is_blocked(SIGINT));
    CHECK(is_blocked(SIGPROF));
    started = std::thread([&] { in_thread = is_blocked(SIGINT); });
  }
  CHECK(!is_blocked(SIGINT));
  started.join();
  CHECK(in_thread);
}

TEST_CASE("a signal that was blocked before stays so") {
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  { const BlockedSignals blocked; }
  CHECK(is_blocked(SIGUSR1));
  CHECK(!is_blocked(SIGUSR2));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace dt
