#include "base/vector_queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>

namespace dt {
namespace {

TEST_CASE("a vector queue has the items of a deque after any sequence of calls") {
  std::minstd_rand random(7);
  VectorQueue<int> queue;
  std::deque<int> expected;
  for (int i = 0; i < 10'000; ++i) {
    // Long phases of growth and of decline.
    const bool push = random() % 10 < (i / 1000 % 2 == 0 ? 7U : 3U);
    if (push) {
      queue.push_back(i);
      expected.push_back(i);
    } else if (!expected.empty() && random() % 4 == 0) {
      queue.pop_back();
      expected.pop_back();
    } else if (!expected.empty()) {
      queue.pop_front();
      expected.pop_front();
    }
    REQUIRE(queue.size() == expected.size());
    REQUIRE(std::equal(queue.begin(), queue.end(), expected.begin(), expected.end()));
    if (expected.empty()) continue;
    REQUIRE(queue.front() == expected.front());
    REQUIRE(queue.back() == expected.back());
  }
}

TEST_CASE("a vector queue of constant length does not move its items to new memory for ever") {
  VectorQueue<int> queue;
  for (int i = 0; i < 10; ++i)
    queue.push_back(i);
  // erase_if() moves the items to the beginning of the memory.
  const auto memory_after = [&](int passes) {
    for (int i = 0; i < passes; ++i) {
      queue.push_back(i);
      queue.pop_front();
    }
    queue.erase_if([](int) { return false; });
    return &queue.front();
  };
  const int* memory = memory_after(1000);
  CHECK(memory_after(1000) == memory);
}

TEST_CASE("a vector queue releases an item when it leaves") {
  const auto item = std::make_shared<int>(1);
  VectorQueue<std::shared_ptr<int>> queue;
  for (int i = 0; i < 4; ++i)
    queue.push_back(item);
  CHECK(item.use_count() == 5);
  queue.pop_front();
  CHECK(item.use_count() == 4);
  queue.pop_back();
  CHECK(item.use_count() == 3);
  CHECK(queue.erase_if([](const auto&) { return true; }) == 2);
  CHECK(item.use_count() == 1);
  CHECK(queue.empty());
}

TEST_CASE("an item in the middle can be removed") {
  VectorQueue<int> queue;
  for (const int number : {1, 2, 3, 4})
    queue.push_back(number);
  queue.pop_front();
  queue.erase(queue.begin() + 1);
  CHECK(std::vector<int>(queue.begin(), queue.end()) == std::vector{2, 4});
  queue.erase(queue.begin());
  queue.erase(queue.begin());
  CHECK(queue.empty());
}

}  // namespace
}  // namespace dt
