#include "rendezvous/store/collections.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

using Goals = std::vector<Collections::Goal>;

Wait wait_of(ClientId client, uint32_t request, Time deadline = Time()) {
  return {.key = {}, .client = client, .request = request, .deadline = deadline};
}

TEST_CASE("a goal is complete with its last key, and is taken with all its requests") {
  Collections collections;
  collections.add({"a/", 3}, 1, wait_of(1, 10));
  collections.add({"a/", 3}, 1, wait_of(2, 20));
  collections.add({"", 5}, 3, wait_of(1, 11));
  CHECK(collections.key_added("b/1").empty());
  CHECK(collections.key_added("a/2") == Goals{{"", 5}});
  CHECK(collections.key_added("a/3") == Goals{{"a/", 3}});
  const std::vector<Wait> taken = collections.take({"a/", 3});
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].request == 10);
  CHECK(taken[1].request == 20);
  CHECK(collections.of_client(1) == 1);
  CHECK(collections.of_client(2) == 0);
}

TEST_CASE("an erased key no longer counts") {
  Collections collections;
  collections.add({"a/", 2}, 1, wait_of(1, 10));
  collections.key_erased("a/1");
  CHECK(collections.key_added("a/2").empty());
  CHECK(collections.key_added("a/1") == Goals{{"a/", 2}});
}

TEST_CASE("requests leave at their deadline and with their client") {
  Collections collections;
  const Time start = Time() + seconds(100);
  collections.add({"a/", 2}, 0, wait_of(1, 10, start));
  collections.add({"a/", 2}, 0, wait_of(2, 20, start + seconds(1)));
  collections.add({"a/", 2}, 0, wait_of(3, 30, start + seconds(2)));
  CHECK(collections.next_deadline() == start);
  CHECK(collections.take_due(start - milliseconds(1)).empty());
  const auto due = collections.take_due(start);
  REQUIRE(due.size() == 1);
  CHECK(due[0].goal == Collections::Goal{"a/", 2});
  CHECK(due[0].wait.request == 10);
  collections.remove_client(2);
  CHECK(collections.next_deadline() == start + seconds(2));
  collections.postpone(seconds(5));
  CHECK(collections.next_deadline() == start + seconds(7));
  collections.remove_client(3);
  CHECK(collections.next_deadline() == Time::max());
  CHECK(collections.key_added("a/1").empty());
}

}  // namespace
}  // namespace dt
