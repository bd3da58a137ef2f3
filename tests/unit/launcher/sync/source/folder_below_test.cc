#include "launcher/sync/source/folder_below.h"

#include "base/io/file.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace dt {
namespace {

TEST_CASE("files below a root are opened, and no link is followed") {
  const TemporaryFolder folder;
  folder.write("root/a/file", "text");
  folder.write("outside", "secret");
  std::filesystem::create_symlink("a", folder.path() + "/root/link");
  std::filesystem::create_symlink("../outside", folder.path() + "/root/leaving");
  REQUIRE(::mkfifo((folder.path() + "/root/fifo").c_str(), 0600) == 0);
  const auto root = open_tree_root(folder.path() + "/root");
  REQUIRE(root);
  for (const auto& open_file : {open_file_below, open_file_by_parts}) {
    const Fd file = open_file(*root, "a/file");
    REQUIRE(file);
    CHECK(read_text(file.get(), 100) == "text");
    CHECK_FALSE(open_file(*root, "link/file"));
    CHECK((errno == ELOOP || errno == ENOTDIR));
    CHECK_FALSE(open_file(*root, "leaving"));
    CHECK(errno == ELOOP);
    CHECK_FALSE(open_file(*root, "../outside"));
    CHECK_FALSE(open_file(*root, "a/../../outside"));
    CHECK_FALSE(open_file(*root, folder.path() + "/outside"));
    CHECK_FALSE(open_file(*root, "a/none"));
    CHECK(errno == ENOENT);
    CHECK(open_file(*root, "fifo"));
  }
  CHECK(open_folder_below(*root, "a"));
  CHECK(open_folder_below(*root, ""));
  CHECK_FALSE(open_folder_below(*root, "link"));
  CHECK_FALSE(open_folder_below(*root, "a/file"));
}

TEST_CASE("a root that is missing or a file is an error") {
  const TemporaryFolder folder;
  folder.write("file", "x");
  CHECK_FALSE(open_tree_root(folder.path() + "/none"));
  CHECK_FALSE(open_tree_root(folder.path() + "/file"));
}

}  // namespace
}  // namespace dt
