#include "launcher/sync/server/source_marker.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("SourceMarker is a file in .git or .dtrain, and leaves nothing") {
  const TemporaryFolder tree;
  {
    const SourceMarker marker(tree.path(), "job");
    CHECK(marker.name() == ".dtrain/dtrain-source-job");
    CHECK(std::filesystem::exists(tree.path() + "/" + marker.name()));
  }
  CHECK(std::filesystem::is_empty(tree.path()));
  std::filesystem::create_directory(tree.path() + "/.git");
  {
    const SourceMarker marker(tree.path(), "job");
    CHECK(marker.name() == ".git/dtrain-source-job");
    CHECK(std::filesystem::exists(tree.path() + "/" + marker.name()));
  }
  CHECK(std::filesystem::is_empty(tree.path() + "/.git"));
  CHECK(SourceMarker("/proc/self/none", "job").name().empty());
}

}  // namespace
}  // namespace dt
