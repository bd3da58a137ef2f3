#include "comm/driver/caller_threads.h"

#include <doctest/doctest.h>

#include <thread>

namespace dt {
namespace {

TEST_CASE("calls of one thread come from one thread, until another one makes a call") {
  CallerThreads callers;
  CHECK(callers.note_caller());
  CHECK(callers.note_caller());
  bool alone = true;
  std::thread([&] { alone = callers.note_caller(); }).join();
  CHECK(!alone);
  CHECK(!callers.note_caller());
}

}  // namespace
}  // namespace dt
