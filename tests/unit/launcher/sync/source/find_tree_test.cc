#include "launcher/sync/source/find_tree.h"

#include "tests/unit/launcher/connect/message_form.h"
#include "tests/unit/launcher/sync/source/git_trees.h"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace dt {
namespace {

namespace fs = std::filesystem;
using Kind = TreeEntry::Kind;
using Names = std::vector<std::string>;

UserPlace at(const std::string& folder) {
  UserPlace place{.folder = folder, .environment = clean_git_environment()};
  place.environment["HOME"] = "/nonexistent";
  return place;
}

FoundTree found(const std::string& folder, const SyncOptions& options = {}) {
  auto tree = find_tree(options, at(folder));
  REQUIRE_MESSAGE(tree, (tree ? "" : tree.error().message));
  return *std::move(tree);
}

std::string failure(const UserPlace& place, const SyncOptions& options = {}) {
  const auto tree = find_tree(options, place);
  REQUIRE_FALSE(tree);
  CHECK(tree.error().code == Errc::input);
  CHECK(fault_of_message(tree.error().message) == "");
  return tree.error().message;
}

Names paths(const FoundTree& tree) {
  Names all;
  for (const FoundEntry& found : tree.entries)
    all.push_back(found.entry.path);
  CHECK(std::ranges::is_sorted(all));
  return all;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void make_socket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(fd);
}

TEST_CASE("without git, --sync takes every file, link and empty folder below the current folder") {
  const TemporaryFolder folder;
  folder.write("train.py", "x", 0755);
  folder.write("empty.txt", "");
  folder.write("src/a\nb", "12345");
  folder.write("src/\xff\xfe", "1");
  folder.write("nested/.git/HEAD", "ref: refs/heads/main");
  folder.write("nested/file", "1");
  folder.write(".dtrain/manifest", "1");
  fs::create_directories(folder.path() + "/none/left");
  fs::create_symlink("src", folder.path() + "/link");
  const FoundTree tree = found(folder.path());
  CHECK(paths(tree) == Names{"empty.txt", "link", "nested/file", "none/left", "src/a\nb",
                             "src/\xff\xfe", "train.py"});
  CHECK(tree.root == folder.path());
  CHECK(tree.place == "");
  CHECK(tree.commit == "");
  CHECK_FALSE(tree.dirty);
  CHECK(tree.warnings.empty());
  CHECK(tree.total_bytes() == 8);
  CHECK(tree.entries[1].entry.target == "src");
  CHECK(tree.entries[1].entry.kind == Kind::link);
  CHECK(tree.entries[3].entry.kind == Kind::folder);
  CHECK_FALSE(tree.entries[0].entry.executable);
  CHECK(tree.entries[6].entry.executable);
  CHECK(tree.entries[6].facts.inode != 0);
  CHECK(tree.entries[6].facts.mtime_ns > 0);
}

TEST_CASE("--sync takes the git tree that holds the current folder, by the rules of git") {
  const TemporaryFolder folder;
  folder.write(".gitignore", "*.ckpt\nout/\n");
  folder.write("src/train.py", "x");
  folder.write("deleted", "x");
  const std::string commit = make_repository(folder.path());
  fs::create_directories(folder.path() + "/empty");
  const FoundTree clean = found(folder.path() + "/src");
  CHECK_FALSE(clean.dirty);
  CHECK(clean.root == folder.path());
  CHECK(clean.place == "src");
  CHECK(clean.commit == commit);
  CHECK(paths(clean) == Names{".gitignore", "deleted", "src/train.py"});

  folder.write("model.ckpt", "x");
  folder.write("out/log", "x");
  folder.write("new\n\xff", "x");
  const FoundTree others = found(folder.path());
  CHECK(others.dirty);
  CHECK(paths(others) == Names{".gitignore", "deleted", "new\n\xff", "src/train.py"});

  fs::remove(folder.path() + "/new\n\xff");
  fs::remove(folder.path() + "/deleted");
  const FoundTree changed = found(folder.path());
  CHECK(changed.dirty);
  CHECK(paths(changed) == Names{".gitignore", "src/train.py"});
}

TEST_CASE("--sync-from names another folder, whose git tree is taken") {
  const TemporaryFolder folder;
  folder.write("code/src/a", "x");
  fs::create_directories(folder.path() + "/elsewhere");
  make_repository(folder.path() + "/code");
  const FoundTree tree = found(folder.path() + "/elsewhere", {.from = "../code/src"});
  CHECK(tree.root == folder.path() + "/code");
  CHECK(tree.place == "");
  CHECK(paths(tree) == Names{"src/a"});
  fs::create_symlink("code", folder.path() + "/link");
  CHECK(found(folder.path() + "/code/src", {.from = folder.path() + "/link"}).place == "src");
}

TEST_CASE("a repository without commits, and a worktree, are git trees") {
  const TemporaryFolder folder;
  folder.write("fresh/a", "x");
  git_in(folder.path() + "/fresh", {"init", "-q"});
  const FoundTree fresh = found(folder.path() + "/fresh");
  CHECK(paths(fresh) == Names{"a"});
  CHECK(fresh.commit == "");
  CHECK(fresh.dirty);

  folder.write("main/b", "x");
  const std::string commit = make_repository(folder.path() + "/main");
  git_in(folder.path() + "/main", {"worktree", "add", "-q", folder.path() + "/tree"});
  const FoundTree tree = found(folder.path() + "/tree");
  CHECK(paths(tree) == Names{"b"});
  CHECK(tree.root == folder.path() + "/tree");
  CHECK(tree.commit == commit);
  CHECK_FALSE(tree.dirty);
}

TEST_CASE("submodules belong to a git tree; other repositories in it are left out by name") {
  const TemporaryFolder folder;
  folder.write("inner/deep", "x");
  make_repository(folder.path() + "/inner");
  folder.write("library/.gitignore", "*.o\n");
  folder.write("library/code", "x");
  git_in(folder.path() + "/library", {"init", "-q"});
  git_in(folder.path() + "/library",
         {"submodule", "--quiet", "add", folder.path() + "/inner", "in"});
  make_repository(folder.path() + "/library");
  folder.write("app/main.py", "x");
  git_in(folder.path() + "/app", {"init", "-q"});
  git_in(folder.path() + "/app",
         {"submodule", "--quiet", "add", folder.path() + "/library", "lib"});
  git_in(folder.path() + "/app",
         {"submodule", "--quiet", "add", folder.path() + "/inner", "absent"});
  git_in(folder.path() + "/app", {"submodule", "--quiet", "update", "--init", "--recursive"});
  make_repository(folder.path() + "/app");
  git_in(folder.path() + "/app", {"submodule", "--quiet", "deinit", "absent"});
  CHECK_FALSE(found(folder.path() + "/app").dirty);
  folder.write("app/lib/built.o", "x");
  folder.write("app/lib/in/new", "x");
  folder.write("app/other/file", "x");
  make_repository(folder.path() + "/app/other");
  folder.write("app/fresh/file", "x");
  git_in(folder.path() + "/app/fresh", {"init", "-q"});

  const FoundTree tree = found(folder.path() + "/app");
  CHECK(paths(tree) == Names{".gitmodules", "lib/.gitignore", "lib/.gitmodules", "lib/code",
                             "lib/in/deep", "lib/in/new", "main.py"});
  CHECK(tree.dirty);
  REQUIRE(tree.warnings.size() == 2);
  CHECK(contains(tree.warnings[0], "2 git repositories that are no submodules: 'fresh', 'other'"));
  CHECK(contains(tree.warnings[1], "submodule 'absent'"));

  const FoundTree more = found(folder.path() + "/app", {.included = {"other", "*.o", "fresh"}});
  CHECK(paths(more) == Names{".gitmodules", "fresh/file", "lib/.gitignore", "lib/.gitmodules",
                             "lib/built.o", "lib/code", "lib/in/deep", "lib/in/new", "main.py",
                             "other/file"});
  CHECK(paths(found(folder.path() + "/app", {.excluded = {"*"}, .included = {"lib/in/deep"}})) ==
        Names{"lib/in/deep"});
}

TEST_CASE("patterns exclude, and include also what git ignores") {
  const TemporaryFolder folder;
  folder.write(".gitignore", "build/\n*.bin\n");
  folder.write("data/large", "x");
  folder.write("data/small", "x");
  folder.write("src/a.py", "x");
  make_repository(folder.path());
  folder.write("build/out/kernel.so", "x");
  folder.write("build/out/log", "x");
  folder.write("model.bin", "x");
  const FoundTree tree =
      found(folder.path(), {.excluded = {"data"}, .included = {"data/small", "*.so", "model.bin"}});
  CHECK(paths(tree) ==
        Names{".gitignore", "build/out/kernel.so", "data/small", "model.bin", "src/a.py"});
  CHECK(paths(found(folder.path(), {.included = {"build/out/l*"}})) ==
        Names{".gitignore", "build/out/log", "data/large", "data/small", "src/a.py"});
  const TemporaryFolder plain;
  plain.write("data/x/large", "x");
  plain.write("data/x/keep", "x");
  plain.write("other", "x");
  CHECK(paths(found(plain.path(), {.excluded = {"data/"}, .included = {"*/keep"}})) ==
        Names{"data/x/keep", "other"});
  CHECK(paths(found(plain.path(), {.excluded = {"*"}})).empty());
}

TEST_CASE("links that leave the tree are left out with one warning, or are an error") {
  const TemporaryFolder folder;
  folder.write("a/file", "x");
  fs::create_symlink("../a/file", folder.path() + "/a/inside");
  fs::create_symlink("missing", folder.path() + "/dangling");
  fs::create_symlink("/etc/hostname", folder.path() + "/absolute");
  fs::create_symlink("../../x", folder.path() + "/a/leaving");
  fs::create_symlink(".", folder.path() + "/here");
  fs::create_symlink("here/../x", folder.path() + "/detour");
  const FoundTree tree = found(folder.path());
  CHECK(paths(tree) == Names{"a/file", "a/inside", "dangling", "here"});
  REQUIRE(tree.warnings.size() == 1);
  CHECK(
      contains(tree.warnings[0], "3 links that leave the tree: 'a/leaving', 'absolute', 'detour'"));
  const std::string error = failure(at(folder.path()), {.strict = true});
  CHECK(contains(error, "--sync-strict: 3 links"));
  CHECK(contains(error, "'a/leaving'"));
}

TEST_CASE("a tracked file behind a folder that became a link is as good as deleted") {
  const TemporaryFolder folder;
  folder.write("a/file", "x");
  folder.write("b/file", "x");
  make_repository(folder.path());
  fs::remove_all(folder.path() + "/a");
  fs::create_symlink("b", folder.path() + "/a");
  CHECK(paths(found(folder.path())) == Names{"a", "b/file"});
}

TEST_CASE("sockets, devices and FIFOs are one warning with a count and three names") {
  const TemporaryFolder folder;
  folder.write("file", "x");
  make_socket(folder.path() + "/s1");
  for (const char* name : {"f2", "f3", "f4"})
    REQUIRE(::mkfifo((folder.path() + "/" + name).c_str(), 0600) == 0);
  const FoundTree tree = found(folder.path());
  CHECK(paths(tree) == Names{"file"});
  REQUIRE(tree.warnings.size() == 1);
  CHECK(contains(tree.warnings[0], "4 sockets, devices or FIFOs: 'f2', 'f3', 'f4' and 1 more"));
}

TEST_CASE("files and folders that cannot be read are one warning" *
          doctest::skip(::geteuid() == 0)) {
  const TemporaryFolder folder;
  folder.write("file", "x");
  folder.write("secret", "x", 0);
  folder.write("closed/file", "x");
  fs::permissions(folder.path() + "/closed", fs::perms::none);
  const FoundTree tree = found(folder.path());
  fs::permissions(folder.path() + "/closed", fs::perms::owner_all);
  CHECK(paths(tree) == Names{"file"});
  REQUIRE(tree.warnings.size() == 1);
  CHECK(contains(tree.warnings[0], "2 files that cannot be read: 'closed', 'secret'"));
}

TEST_CASE("git finds the tree of the folder, whatever the variables of the caller name") {
  const TemporaryFolder folder;
  folder.write("a/file", "x");
  folder.write("b/other", "x");
  const std::string commit = make_repository(folder.path() + "/a");
  make_repository(folder.path() + "/b");
  UserPlace place = at(folder.path() + "/a");
  place.environment["GIT_DIR"] = folder.path() + "/b/.git";
  place.environment["GIT_WORK_TREE"] = folder.path() + "/b";
  place.environment["GIT_INDEX_FILE"] = folder.path() + "/b/.git/index";
  place.environment["GIT_CEILING_DIRECTORIES"] = folder.path();
  const auto tree = find_tree({}, place);
  REQUIRE(tree);
  CHECK(paths(*tree) == Names{"file"});
  CHECK(tree->commit == commit);
  CHECK_FALSE(tree->dirty);
}

TEST_CASE("folders that cannot be meant are refused with the option that names another one") {
  const TemporaryFolder folder;
  folder.write("home/user/file", "x");
  folder.write("home/user/code/file", "x");
  const std::string home = folder.path() + "/home/user";
  UserPlace place = at(home);
  place.environment["HOME"] = home;
  CHECK(contains(failure(place), "all of the home"));
  CHECK(contains(failure(place), "--sync-from DIR"));
  CHECK(contains(failure(place, {.from = folder.path() + "/home"}), "all of the home"));
  place.folder = home + "/code";
  CHECK(find_tree({}, place));
  make_repository(home);
  place.folder = home;
  CHECK(find_tree({}, place));

  CHECK(contains(failure(at("/")), "all of '/'"));
  CHECK(contains(failure(at(folder.path()), {.from = "missing"}), "no such folder"));
  CHECK(contains(failure(at(home), {.from = "file"}), "this is a file"));
  CHECK(contains(failure(at(home), {.from = "file/x"}), "is a file"));
  CHECK(contains(failure({.folder = "", .environment = {}}), "has been removed"));
}

TEST_CASE("a .git that git refuses, or that there is no git for, is an error with the reason") {
  const TemporaryFolder folder;
  folder.write("broken/.git", "no gitfile");
  folder.write("broken/file", "x");
  CHECK(contains(failure(at(folder.path() + "/broken")), "invalid gitfile format"));
  folder.write("empty/.git/x", "x");
  CHECK(contains(failure(at(folder.path() + "/empty")), "not a git repository"));
  folder.write("good/file", "x");
  make_repository(folder.path() + "/good");
  UserPlace place = at(folder.path() + "/good");
  place.environment["PATH"] = folder.path();
  const auto tree = find_tree({}, place);
  REQUIRE_FALSE(tree);
  CHECK(tree.error().code == Errc::not_found);
  CHECK(contains(tree.error().message, "install git"));
  CHECK(fault_of_message(tree.error().message) == "");
}

}  // namespace
}  // namespace dt
