#include "launcher/sync/store/written_files.h"

#include "base/io/fd.h"
#include "launcher/sync/store/folder_walk.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("read_tree_use: the bytes of all files, and whether any differs") {
  const TemporaryFolder folder;
  folder.write("a", "12345");
  folder.write("d/b", "123");
  std::filesystem::create_symlink("a", folder.path() + "/link");
  folder.write("__pycache__/m.pyc", "committed");
  TreeIndex index;
  for (const char* path : {"__pycache__/m.pyc", "a", "d/b"}) {
    struct stat status = {};
    REQUIRE(::stat((folder.path() + "/" + path).c_str(), &status) == 0);
    index.placed.push_back({.entry = sync_file(path, ""), .facts = facts_of(status)});
  }
  index.placed.push_back({.entry = sync_link("link", "a"), .facts = {}});
  const Fd root = open_folder(AT_FDCWD, folder.path().c_str());
  const TreeUse unused = read_tree_use(root.get(), index).value();
  CHECK_FALSE(unused.written);
  CHECK(unused.bytes == 8);
  CHECK(read_tree_use(root.get(), {}).value().written);
  bool written = true;
  SUBCASE("a folder without a file is none that was written") {
    std::filesystem::create_directories(folder.path() + "/x/y");
    written = false;
  }
  SUBCASE("a new link") {
    std::filesystem::create_symlink("a", folder.path() + "/d/link");
  }
  SUBCASE("a file in the place of a link") {
    std::filesystem::remove(folder.path() + "/link");
    folder.write("link", "a");
  }
  SUBCASE("a link in the place of a folder") {
    std::filesystem::rename(folder.path() + "/d", folder.path() + "/e");
    std::filesystem::create_directory_symlink("e", folder.path() + "/d");
  }
  CHECK(read_tree_use(root.get(), index).value().written == written);
}

}  // namespace
}  // namespace dt
