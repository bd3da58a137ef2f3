#include "launcher/sync/source/git_files.h"

#include "tests/unit/launcher/sync/source/git_trees.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace dt {
namespace {

TEST_CASE("the root of a git tree is the nearest folder with a .git that git accepts") {
  const TemporaryFolder folder;
  folder.write("a/.git/HEAD", "x");
  folder.write("a/b/.git", "gitdir: elsewhere");
  folder.write("a/c/.git/nothing", "x");
  folder.write("d/.git/nothing", "x");
  const auto root = [&](const std::string& place) {
    const auto found = find_git_root(folder.path() + "/" + place);
    return found ? found->substr(folder.path().size()) : "none";
  };
  CHECK(root("a") == "/a");
  CHECK(root("a/x/y") == "/a");
  CHECK(root("a/b/x") == "/a/b");
  CHECK(root("a/c/x") == "/a");
  CHECK(root("d/x") == "/d");
  CHECK(root("e") == "none");
  CHECK(has_git(folder.path() + "/a/b"));
  CHECK_FALSE(has_git(folder.path() + "/d"));
}

TEST_CASE("git gets no variable that chooses a repository, and does not ask") {
  const Environment environment = git_environment({{"GIT_DIR", "x"},
                                                   {"GIT_INDEX_FILE", "x"},
                                                   {"GIT_CONFIG_PARAMETERS", "x"},
                                                   {"GIT_CONFIG_GLOBAL", "y"},
                                                   {"GIT_SSH_COMMAND", "ssh"},
                                                   {"LANGUAGE", "de"},
                                                   {"PATH", "/bin"}});
  CHECK(environment == Environment{{"GIT_CONFIG_GLOBAL", "y"},
                                   {"GIT_SSH_COMMAND", "ssh"},
                                   {"GIT_TERMINAL_PROMPT", "0"},
                                   {"LC_ALL", "C"},
                                   {"PATH", "/bin"}});
}

TEST_CASE("git lists a file with a conflict, and the commit that it conflicts with") {
  const TemporaryFolder folder;
  folder.write("file", "one");
  make_repository(folder.path());
  git_in(folder.path(), {"checkout", "-q", "-b", "other"});
  folder.write("file", "two");
  git_in(folder.path(), {"commit", "-q", "-a", "-m", "two"});
  git_in(folder.path(), {"checkout", "-q", "main"});
  folder.write("file", "three");
  git_in(folder.path(), {"commit", "-q", "-a", "-m", "three"});
  const std::string commit = git_in(folder.path(), {"rev-parse", "HEAD"});
  CHECK(run_program(git_command(folder.path(), {"merge", "-q", "other"})).status == 1);
  const auto files = list_git_files(
      {.root = folder.path(), .environment = git_environment(clean_git_environment())},
      SyncPatterns({}, {}));
  REQUIRE(files);
  CHECK(files->commit == commit);
  CHECK(files->dirty);
  CHECK(std::ranges::count(files->paths, "file") >= 1);
  CHECK(std::ranges::all_of(files->paths, [](const auto& path) { return path == "file"; }));
}

}  // namespace
}  // namespace dt
