#include "launcher/sync/host/markers.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

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

TEST_CASE("a marker that cannot be put") {
  const auto failed = Markers::put("/proc/self/none", "job", "one");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message.find("/proc/self/none") != std::string::npos);
}

}  // namespace
}  // namespace dt
