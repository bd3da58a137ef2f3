#include "comm/transport/local_group.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <utility>
#include <vector>

namespace dt {
namespace {

TEST_CASE("a host's slots go to its ranked tasks in their order") {
  TaskTable table = table_of_workers(4, 4);
  std::swap(table.tasks[0], table.tasks[3]);
  table.tasks[1].agent = 9;
  table.tasks.push_back(
      {.id = {"evaluator", 0}, .rank = -1, .agent = 0, .host = "", .addresses = {}});
  const LocalGroup group = LocalGroup::create(table, *table.by_rank(2)).value();
  CHECK(group.slot_of({"worker", 0}) == 0);
  CHECK(group.slot_of({"worker", 1}) == -1);
  CHECK(group.slot_of({"worker", 2}) == 1);
  CHECK(group.slot_of({"worker", 3}) == 2);
  CHECK(group.slot_of({"evaluator", 0}) == -1);
  CHECK(group.own_slot() == 1);
}

TEST_CASE("a task that is alone on its host has no group") {
  const TaskTable table = table_of_workers(2, 1);
  const LocalGroup group = LocalGroup::create(table, table.tasks[0]).value();
  CHECK(group.empty());
  CHECK(group.slot_of({"worker", 0}) == -1);
  CHECK(!group.doorbell());
}

TEST_CASE("the lowest task gives its memory and its doorbell, the others their doorbell") {
  const TaskTable table = table_of_workers(2, 2);
  const LocalGroup lowest = LocalGroup::create(table, table.tasks[0]).value();
  LocalGroup other = LocalGroup::create(table, table.tasks[1]).value();
  REQUIRE(lowest.passed_fds().size() == LocalGroup::passed_fds_expected(0));
  CHECK(other.passed_fds().size() == LocalGroup::passed_fds_expected(1));
  CHECK(lowest.segment() != nullptr);
  CHECK(other.segment() == nullptr);
  std::vector<Fd> passed_fds;
  for (const int fd : lowest.passed_fds())
    passed_fds.push_back(duplicate(fd).value());
  CHECK(other.take_passed_fds(0, std::move(passed_fds)).has_value());
  REQUIRE(other.segment() != nullptr);
  lowest.segment()->data({0, 1})[5] = std::byte{7};
  CHECK(other.segment()->data({0, 1})[5] == std::byte{7});
}

TEST_CASE("memory that is not a segment is refused") {
  const TaskTable table = table_of_workers(2, 2);
  LocalGroup other = LocalGroup::create(table, table.tasks[1]).value();
  std::vector<Fd> passed_fds;
  passed_fds.emplace_back(open("/dev/null", O_RDWR | O_CLOEXEC));
  passed_fds.emplace_back(open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK(other.take_passed_fds(0, std::move(passed_fds)).error().code == Errc::protocol);
}

}  // namespace
}  // namespace dt
