#include "launcher/sync/store/folder_walk.h"

#include "base/format.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace dt {
namespace {

namespace fs = std::filesystem;

TEST_CASE("path_fault: paths that may not be below a root") {
  for (const char* good : {"a", "a/b", ".a", "..a/b..", "a/.dtrain", ".dtrained", "a b\n"}) {
    CAPTURE(good);
    CHECK(path_fault(good) == "");
  }
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b",
                          ".dtrain", ".dtrain/lock"}) {
    CAPTURE(bad);
    CHECK(path_fault(bad) != "");
  }
  CHECK(path_fault(std::string_view("a\0b", 3)) != "");
}

TEST_CASE("enter: the parent's folder and the name; missing, blocked and refused paths differ") {
  const TemporaryFolder folder;
  folder.write("a/b/file", "x");
  folder.write("a/c", "x");
  fs::create_directory_symlink("a", folder.path() + "/link");
  const Fd root = open_folder(AT_FDCWD, folder.path().c_str());
  FolderWalk walk(root.get());
  for (const std::string path : {"a/b/file", "a/c", "a/b/file", "a/b"}) {
    const WalkedName at = walk.enter(path).value();
    CHECK(::faccessat(at.folder, at.name, F_OK, 0) == 0);
  }
  const std::string missing = "a/none/x";
  CHECK(walk.enter(missing).error().code == Errc::not_found);
  const std::string missing_too = "a/none/y/z";
  CHECK(walk.enter(missing_too).error().code == Errc::not_found);
  const std::string bad_and_missing = "a/none/../c";
  CHECK(walk.enter(bad_and_missing).error().code == Errc::input);
  const std::string beside_missing = "a/none_";
  CHECK(walk.enter(beside_missing));
  const std::string through_link = "link/b/file";
  CHECK(walk.enter(through_link).error().code == Errc::refused);
  CHECK(walk.blocked() == "link");
  const std::string through_file = "a/c/x/y";
  CHECK(walk.enter(through_file).error().code == Errc::refused);
  CHECK(walk.blocked() == "a/c");
  const std::string leaving = "a/../../x";
  CHECK(walk.enter(leaving).error().code == Errc::input);
}

TEST_CASE("make: makes missing folders, and none through a link") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() + "/tree");
  fs::create_directory(folder.path() + "/outside");
  fs::create_directory_symlink("../outside", folder.path() + "/tree/link");
  const Fd root = open_folder(AT_FDCWD, (folder.path() + "/tree").c_str());
  FolderWalk walk(root.get());
  const std::string deep = "a/b/c/file";
  CHECK(walk.enter(deep).error().code == Errc::not_found);
  CHECK(walk.make(deep));
  CHECK(walk.enter(deep));
  CHECK(fs::is_directory(folder.path() + "/tree/a/b/c"));
  CHECK_FALSE(fs::exists(folder.path() + "/tree/a/b/c/file"));
  const std::string through_link = "link/new/file";
  CHECK(walk.make(through_link).error().code == Errc::refused);
  CHECK(fs::is_empty(folder.path() + "/outside"));
  std::string deepest = "x";
  for (int i = 0; i < 300; ++i)
    deepest += "/x";
  CHECK(walk.make(deepest).error().code == Errc::input);
}

TEST_CASE("remove_tree: all below, without rights, too, and nothing behind links") {
  const TemporaryFolder folder;
  folder.write("outside/file", "safe");
  folder.write("tree/a/b/c", "x");
  fs::create_directory_symlink("../outside", folder.path() + "/tree/link");
  fs::permissions(folder.path() + "/tree/a/b", fs::perms::none);
  CHECK(remove_tree(folder.path() + "/tree"));
  CHECK_FALSE(fs::exists(folder.path() + "/tree"));
  CHECK(folder.read("outside/file") == "safe");
  CHECK(remove_tree(folder.path() + "/tree"));
}

TEST_CASE("remove_empty_folder: empty folders and Python's caches go, a file stays") {
  const TemporaryFolder folder;
  const Fd root = open_folder(AT_FDCWD, folder.path().c_str());
  fs::create_directories(folder.path() + "/a/b/c");
  folder.write("a/__pycache__/m.cpython-311.pyc", "x");
  CHECK(remove_empty_folder(root.get(), "a"));
  CHECK_FALSE(fs::exists(folder.path() + "/a"));
  CHECK(remove_empty_folder(root.get(), "a"));
  folder.write("b/c/file", "x");
  CHECK_FALSE(remove_empty_folder(root.get(), "b"));
  CHECK(folder.read("b/c/file") == "x");
  folder.write("d/__pycache__/notes", "x");
  CHECK_FALSE(remove_empty_folder(root.get(), "d"));
  CHECK(folder.read("d/__pycache__/notes") == "x");
}

TEST_CASE("has_target: only a link with exactly this target") {
  const TemporaryFolder folder;
  fs::create_symlink("target", folder.path() + "/link");
  folder.write("file", "target");
  const Fd root = open_folder(AT_FDCWD, folder.path().c_str());
  const WalkedName link = {.folder = root.get(), .name = "link"};
  CHECK(has_target(link, "target"));
  CHECK_FALSE(has_target(link, "targe"));
  CHECK_FALSE(has_target(link, "target2"));
  CHECK_FALSE(has_target({.folder = root.get(), .name = "file"}, "target"));
}

}  // namespace
}  // namespace dt
