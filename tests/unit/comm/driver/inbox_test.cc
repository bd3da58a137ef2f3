#include "comm/driver/inbox.h"

#include <doctest/doctest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace dt {
namespace {

Inbox::Work numbered(uint64_t number) {
  auto work = std::make_shared<Operation>();
  work->sequence = number;
  return work;
}

TEST_CASE("an inbox returns operations in the order in which they were put") {
  Inbox inbox;
  CHECK(inbox.empty());
  CHECK(inbox.take() == nullptr);
  for (uint64_t i = 0; i < 100; ++i)
    inbox.put(numbered(i));
  CHECK(!inbox.empty());
  for (uint64_t i = 0; i < 100; ++i)
    CHECK(inbox.take()->sequence == i);
  CHECK(inbox.empty());
}

TEST_CASE("operations are orphaned only while no thread steps, and steps do not end before them") {
  Inbox inbox;
  CHECK(!inbox.orphaned());
  inbox.put(numbered(1));
  CHECK(inbox.orphaned());
  inbox.begin_steps();
  CHECK(!inbox.orphaned());
  CHECK(!inbox.end_steps());
  CHECK(inbox.stepping());
  inbox.take();
  CHECK(inbox.end_steps());
  CHECK(!inbox.stepping());
}

TEST_CASE("no operation stays in the inbox when all submitters and steppers have ended") {
  constexpr uint64_t threads = 4;
  constexpr uint64_t works = 2000;
  Inbox inbox;
  std::mutex engine;
  uint64_t taken = 0;  // guarded by `engine`
  const auto take_all = [&] {
    inbox.begin_steps();
    do {
      while (inbox.take())
        ++taken;
    } while (!inbox.end_steps());
  };
  std::vector<std::thread> submitters;
  for (uint64_t i = 0; i < threads; ++i) {
    submitters.emplace_back([&] {
      for (uint64_t j = 0; j < works; ++j) {
        inbox.put(numbered(j));
        while (inbox.orphaned()) {
          const std::unique_lock lock(engine, std::try_to_lock);
          if (lock) take_all();
        }
      }
    });
  }
  for (std::thread& submitter : submitters)
    submitter.join();
  CHECK(taken == threads * works);
}

}  // namespace
}  // namespace dt
