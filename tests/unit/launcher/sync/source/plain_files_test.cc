#include "launcher/sync/source/plain_files.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace dt {
namespace {

using PathList = std::vector<std::string>;

TEST_CASE("all files of a folder are listed, or those that patterns include below one") {
  const TemporaryFolder folder;
  folder.write("a/b/c", "x");
  folder.write("a/d", "x");
  folder.write("e", "x");
  std::filesystem::create_directories(folder.path() + "/f/.git/g");
  std::filesystem::create_symlink("a", folder.path() + "/link");
  auto all = list_plain_files(folder.path(), SyncPatterns({}, {}));
  REQUIRE(all);
  std::ranges::sort(all->paths);
  CHECK(all->paths == PathList{"a/b/c", "a/d", "e", "link"});
  CHECK(all->empty_folders == PathList{"f"});
  const auto included = list_included_files(folder.path(), "a", SyncPatterns({}, {"a/b"}));
  REQUIRE(included);
  CHECK(included->paths == PathList{"a/b/c"});
  const auto excluded = list_plain_files(folder.path(), SyncPatterns({"a", "f"}, {}));
  REQUIRE(excluded);
  CHECK(excluded->empty_folders.empty());
  CHECK(excluded->paths.size() == 2);
}

TEST_CASE("a very deep tree is listed") {
  const TemporaryFolder folder;
  std::string path = "d";
  for (int i = 0; i < 900; ++i)
    path += "/d";
  folder.write(path + "/file", "x");
  const auto all = list_plain_files(folder.path(), SyncPatterns({}, {}));
  REQUIRE(all);
  CHECK(all->paths == PathList{path + "/file"});
}

}  // namespace
}  // namespace dt
