#include "launcher/sync/host/markers.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("Markers find each other in one folder, and leave nothing") {
  const TemporaryFolder folder;
  {
    const auto one = Markers::put(folder.path(), "job", "one");
    REQUIRE(one);
    const auto two = Markers::put(folder.path(), "job", "two");
    REQUIRE(two);
    const auto other = Markers::put(folder.path(), "other job", "three");
    REQUIRE(other);
    auto seen = one->all();
    std::ranges::sort(seen);
    CHECK(seen == std::vector<std::string>{"one", "two"});
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("markers of killed jobs are counted and removed, and those of running jobs stay") {
  const TemporaryFolder folder;
  const auto running = Markers::put(folder.path(), "job", "one");
  REQUIRE(running);
  folder.write("markers/job/lost", "");
  folder.write("markers/killed/one", "");
  std::filesystem::create_directory(folder.path() + "/markers/empty");
  CHECK(left_markers(folder.path(), LeftoverWork::count).count == 2);
  CHECK(left_markers(folder.path(), LeftoverWork::remove).count == 2);
  CHECK(left_markers(folder.path(), LeftoverWork::remove).count == 0);
  CHECK(running->all() == std::vector<std::string>{"one"});
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/markers/killed"));
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/markers/empty"));
}

TEST_CASE("prune_markers: those of a day ago") {
  const TemporaryFolder folder;
  folder.write("markers/killed/one", "");
  prune_markers(folder.path(), WallClock::now());
  CHECK(std::filesystem::exists(folder.path() + "/markers/killed/one"));
  prune_markers(folder.path(), WallClock::now() + std::chrono::hours(25));
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/markers/killed"));
}

TEST_CASE("a marker that cannot be put leaves no folder") {
  const TemporaryFolder folder;
  CHECK_FALSE(Markers::put(folder.path(), "job", std::string(300, 'x')));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a marker that cannot be put") {
  const auto failed = Markers::put("/proc/self/none", "job", "one");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message.find("/proc/self/none") != std::string::npos);
}

}  // namespace
}  // namespace dt
