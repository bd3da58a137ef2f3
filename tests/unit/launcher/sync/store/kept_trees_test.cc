#include "launcher/sync/store/kept_trees.h"

#include "base/format.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>

namespace dt {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

/// Leaves a tree with a file of a task of so many bytes.
void leave_tree(StoreFixture& host, const std::string& job, size_t bytes) {
  TreeSite site = TreeSite::open({.job = job}, host.store).value();
  REQUIRE(site.build(host.files({{"a", "12345"}}), host.objects, {}));
  host.folder.write("store/trees/" + job + "/out", std::string(bytes, 'x'));
  REQUIRE(site.close());
}

void set_last_use(const StoreFixture& host, const std::string& job, hours age) {
  for (const char* file : {"lock", "left"}) {
    const std::string path = format("{}/trees/{}.own/{}", host.store.path(), job, file);
    if (fs::exists(path)) fs::last_write_time(path, fs::file_time_type::clock::now() - age);
  }
}

std::vector<std::string> trees_of(const StoreFixture& host) {
  std::vector<std::string> names;
  for (const KeptTree& tree : list_kept_trees(host.store.path()))
    names.push_back(fs::path(tree.path).filename().string());
  return names;
}

TEST_CASE("list_kept_trees: the oldest first, with sizes, and whether a job has it") {
  StoreFixture host;
  CHECK(list_kept_trees(host.store.path()).empty());
  leave_tree(host, "young", 95);
  leave_tree(host, "old", 5);
  set_last_use(host, "old", hours(3));
  const TreeSite site = TreeSite::open({.job = "young"}, host.store).value();
  const std::vector<KeptTree> trees = list_kept_trees(host.store.path());
  REQUIRE(trees.size() == 2);
  CHECK(trees[0].path == host.store.path() + "/trees/old");
  CHECK(trees[0].bytes == 10);
  CHECK_FALSE(trees[0].in_use);
  CHECK(trees[1].bytes == 100);
  CHECK(trees[1].in_use);
}

TEST_CASE("prune_trees: after 7 days, or the oldest above the bound, and none of a running job") {
  StoreFixture host;
  for (const char* job : {"a", "b", "c"})
    leave_tree(host, job, 95);
  set_last_use(host, "a", hours(3));
  set_last_use(host, "b", hours(2));
  const WallClock::time_point now = WallClock::now();
  using Names = std::vector<std::string>;
  SUBCASE("within both bounds") {
    prune_trees(host.store.path(), now, {});
    CHECK(trees_of(host) == Names{"a", "b", "c"});
  }
  SUBCASE("by age") {
    prune_trees(host.store.path(), now + hours(7 * 24 - 1), {});
    CHECK(trees_of(host) == Names{"c"});
    CHECK_FALSE(fs::exists(host.store.path() + "/trees/a.own"));
  }
  SUBCASE("by bytes") {
    prune_trees(host.store.path(), now, {.bytes = 250});
    CHECK(trees_of(host) == Names{"b", "c"});
  }
  SUBCASE("beside a running job") {
    const TreeSite site = TreeSite::open({.job = "a"}, host.store).value();
    set_last_use(host, "a", hours(300));
    prune_trees(host.store.path(), now + hours(300), {.bytes = 0});
    CHECK(trees_of(host) == Names{"a"});
  }
}

TEST_CASE("prune_trees: leftovers of a killed job go after a day") {
  StoreFixture host;
  fs::create_directories(host.store.path() + "/trees/killed.own/staging/half");
  const WallClock::time_point now = WallClock::now();
  prune_trees(host.store.path(), now, {});
  CHECK(fs::exists(host.store.path() + "/trees/killed.own"));
  prune_trees(host.store.path(), now + hours(25), {});
  CHECK(fs::is_empty(host.store.path() + "/trees"));
}

TEST_CASE("clear_trees: all but those of running jobs") {
  StoreFixture host;
  leave_tree(host, "a", 95);
  leave_tree(host, "b", 95);
  const TreeSite site = TreeSite::open({.job = "b"}, host.store).value();
  const ClearedTrees cleared = clear_trees(host.store.path()).value();
  CHECK(cleared.trees == 1);
  CHECK(cleared.bytes == 100);
  CHECK(cleared.in_use == 1);
  CHECK(trees_of(host) == std::vector<std::string>{"b"});
}

TEST_CASE("unfinished_trees: those that a killed job has begun to make or to remove") {
  StoreFixture host;
  const std::string trees = host.store.path() + "/trees";
  const WallClock::time_point now = WallClock::now();
  leave_tree(host, "whole", 5);
  const TreeSite starting = TreeSite::open({.job = "starting"}, host.store).value();
  host.folder.write("store/trees/killed.own/lock", "");
  host.folder.write("store/trees/killed.own/staging/half", "1234");
  leave_tree(host, "removed", 5);
  fs::rename(trees + "/removed", trees + "/removed.own/old");
  // It has no lock yet, or a kill came before it.
  fs::create_directories(trees + "/begun.own");
  const Leftovers left = unfinished_trees(host.store.path(), LeftoverWork::count, now);
  CHECK(left.count == 2);
  CHECK(left.bytes >= 4 + 10);
  CHECK(unfinished_trees(host.store.path(), LeftoverWork::remove, now) == left);
  CHECK_FALSE(fs::exists(trees + "/killed.own"));
  CHECK_FALSE(fs::exists(trees + "/removed.own"));
  CHECK(fs::exists(trees + "/begun.own"));
  CHECK(fs::exists(trees + "/starting.own/lock"));
  CHECK(trees_of(host) == std::vector<std::string>{"whole"});
  unfinished_trees(host.store.path(), LeftoverWork::remove, now + hours(25));
  CHECK_FALSE(fs::exists(trees + "/begun.own"));
}

TEST_CASE("a tree that is being removed is never there in part") {
  StoreFixture host;
  leave_tree(host, "a", 1);
  // As after a kill between the rename and the removal.
  fs::rename(host.store.path() + "/trees/a", host.store.path() + "/trees/a.own/old");
  CHECK(trees_of(host).empty());
  prune_trees(host.store.path(), WallClock::now() + hours(25), {});
  CHECK(fs::is_empty(host.store.path() + "/trees"));
}

}  // namespace
}  // namespace dt
