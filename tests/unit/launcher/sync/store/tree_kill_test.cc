#include "base/format.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/tree_changes.h"
#include "launcher/sync/store/tree_site.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace dt {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;

/// Trees that differ in files, kinds of paths, and folders.
std::vector<Manifest> differing_trees(StoreFixture& host) {
  std::vector<Manifest> trees(3);
  for (int i = 0; i < 60; ++i) {
    for (size_t tree = 0; tree < trees.size(); ++tree) {
      if (i % 7 == static_cast<int>(tree)) continue;
      const std::string content = i % 3 == 0 ? "same" : format("content {} of {}", i, tree);
      host.add(trees[tree], format("d{}/f{}", i % 5, i), content);
    }
  }
  host.add(trees[0], "p", "a file");
  host.add(trees[1], "p/below", "in a folder");
  StoreFixture::add(trees[2], sync_link("p", "d0"));
  StoreFixture::add(trees[1], sync_folder("empty"));
  host.add(trees[2], "empty", "not any more");
  return trees;
}

std::set<std::string> files_of(const std::string& root) {
  std::set<std::string> files;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator();
       ++at) {
    const std::string path = at->path().lexically_relative(root).string();
    if (path == ".dtrain") {
      at.disable_recursion_pending();
      continue;
    }
    if (!at->is_directory() || at->is_symlink()) files.insert(path);
  }
  return files;
}

std::set<std::string> files_of(const Manifest& manifest) {
  std::set<std::string> files;
  for (const TreeEntry& entry : manifest.entries) {
    if (entry.kind != TreeEntry::Kind::folder) files.insert(entry.path);
  }
  return files;
}

/// True if all entries are there with their contents, which are read.
bool has_contents(const std::string& root, const Manifest& manifest) {
  const Fd folder = open_folder(AT_FDCWD, root.c_str());
  const Result<TreeChanges> changes = compare_tree(folder.get(), manifest, {});
  return changes && changes->put.empty();
}

/// Builds in a child that is killed after a moment. Returns true if the child had ended before.
bool build_and_kill(const StoreFixture& host, const SiteOrder& order, const Manifest& manifest,
                    microseconds moment) {
  const pid_t child = ::fork();
  if (child == 0) {
    Result<TreeSite> site = TreeSite::open(order, host.store);
    const bool built = site && site->build(manifest, host.objects, {});
    ::_exit(built ? 0 : 1);
  }
  const auto until = std::chrono::steady_clock::now() + moment;
  while (std::chrono::steady_clock::now() < until) {
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) != 0));
  return WIFEXITED(status);
}

TEST_CASE("a build in a target that is killed at any time is completed by the next one") {
  StoreFixture host;
  const std::vector<Manifest> trees = differing_trees(host);
  const SiteOrder order = host.order("code");
  host.write("code/out/model.pt", "weights");
  REQUIRE(TreeSite::open({.job = "job0", .target = "code", .into = true, .home = host.home("")},
                         host.store));
  std::mt19937 random(1);
  int killed = 0;
  microseconds longest(1000);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    // One or two builds are killed, then one is not.
    for (unsigned i = 0; i < 1 + random() % 2; ++i) {
      const microseconds moment(random() % static_cast<uint64_t>(longest.count()));
      if (!build_and_kill(host, order, trees[random() % trees.size()], moment)) ++killed;
    }
    const Manifest& manifest = trees[random() % trees.size()];
    const auto begin = std::chrono::steady_clock::now();
    TreeSite site = TreeSite::open(order, host.store).value();
    const std::vector<size_t> lacking = site.lacking(manifest, host.objects).value();
    REQUIRE(lacking.empty());
    const Result<> built = site.build(manifest, host.objects, {});
    REQUIRE_MESSAGE(built, (built ? "" : built.error().message));
    longest = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - begin);
    std::set<std::string> expected = files_of(manifest);
    expected.insert("out/model.pt");
    REQUIRE(files_of(host.home("code")) == expected);
    REQUIRE(has_contents(host.home("code"), manifest));
  }
  // Not all ended before their end.
  CHECK(killed > 0);
}

TEST_CASE("a new tree that is killed is not there, or whole") {
  StoreFixture host;
  const std::vector<Manifest> trees = differing_trees(host);
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    const std::string job = format("job{}", round);
    build_and_kill(host, {.job = job}, trees[0], microseconds(random() % 6000));
    const std::string root = format("{}/trees/{}", host.store.path(), job);
    if (fs::exists(root)) {
      CHECK(files_of(root) == files_of(trees[0]));
      CHECK(has_contents(root, trees[0]));
      CHECK(TreeSite::adopt({.job = job}, host.store, trees[0]));
    }
    TreeSite site = TreeSite::open({.job = job}, host.store).value();
    CHECK(site.build(trees[0], host.objects, {}));
    CHECK_FALSE(site.written().value());
    CHECK(site.close());
  }
  CHECK(fs::is_empty(host.store.path() + "/trees"));
}

}  // namespace
}  // namespace dt
