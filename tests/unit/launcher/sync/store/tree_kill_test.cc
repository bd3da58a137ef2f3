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
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;

/// Trees that differ in files, kinds of paths, and folders, and the contents of their files.
struct DifferingTrees {
  std::vector<Manifest> trees = std::vector<Manifest>(3);
  std::map<Digest, std::string> contents = {};

  void add(size_t tree, std::string path, const std::string& content) {
    const TreeEntry entry = sync_file(std::move(path), content);
    contents.emplace(entry.digest, content);
    StoreFixture::add(trees[tree], entry);
  }
};

DifferingTrees differing_trees() {
  DifferingTrees made;
  std::vector<Manifest>& trees = made.trees;
  for (int i = 0; i < 60; ++i) {
    for (size_t tree = 0; tree < trees.size(); ++tree) {
      if (i % 7 == static_cast<int>(tree)) continue;
      const std::string content = i % 3 == 0 ? "same" : format("content {} of {}", i, tree);
      made.add(tree, format("d{}/f{}", i % 5, i), content);
    }
  }
  made.add(0, "p", "a file");
  made.add(1, "p/below", "in a folder");
  StoreFixture::add(trees[2], sync_link("p", "d0"));
  StoreFixture::add(trees[1], sync_folder("empty"));
  made.add(2, "empty", "not any more");
  return made;
}

/// The trees, with their contents in the store.
std::vector<Manifest> stored_trees(const StoreFixture& host) {
  const DifferingTrees made = differing_trees();
  for (const auto& [digest, content] : made.contents)
    put_object(host.objects, content);
  return made.trees;
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

/// Runs `build` in a child that is killed after a moment. Returns true if the child had ended
/// before.
bool run_and_kill(const std::function<Result<>()>& build, microseconds moment) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(build() ? 0 : 1);
  const auto until = std::chrono::steady_clock::now() + moment;
  while (std::chrono::steady_clock::now() < until) {
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) != 0));
  return WIFEXITED(status);
}

bool build_and_kill(const StoreFixture& host, const SiteOrder& order, const Manifest& manifest,
                    microseconds moment) {
  const auto build = [&]() -> Result<> {
    TreeSite site = TRY(TreeSite::open(order, host.store));
    return site.build(manifest, host.objects, {});
  };
  return run_and_kill(build, moment);
}

TEST_CASE("a build in a target that is killed at any time is completed by the next one") {
  StoreFixture host;
  const std::vector<Manifest> trees = stored_trees(host);
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

/// Sends what the target lacks, and builds it. Returns how many files were sent.
Result<size_t> transfer(const StoreFixture& host, const DifferingTrees& made,
                        const Manifest& manifest) {
  TreeSite site = TRY(TreeSite::open(host.order("code"), host.store));
  const std::vector<size_t> lacking = TRY(site.lacking(manifest, host.objects));
  for (const size_t number : lacking) {
    ContentWriter writer = TRY(site.receive(manifest, number, host.objects));
    TRY(writer.write(as_bytes(made.contents.at(manifest.entries[number].digest))));
    TRY(writer.commit());
    site.received(manifest, number);
  }
  TRY(site.build(manifest, host.objects, {}));
  return lacking.size();
}

TEST_CASE("a transfer to a target that is killed at any time is completed by the next one") {
  const StoreFixture host;
  const DifferingTrees made = differing_trees();
  std::mt19937 random(3);
  int killed = 0;
  microseconds longest(1000);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const Manifest& cut = made.trees[random() % made.trees.size()];
    const microseconds moment(random() % static_cast<uint64_t>(longest.count()));
    const auto send = [&]() -> Result<> {
      TRY(transfer(host, made, cut));
      return {};
    };
    if (!run_and_kill(send, moment)) ++killed;
    const Manifest& manifest = made.trees[random() % made.trees.size()];
    const auto begin = std::chrono::steady_clock::now();
    const Result<size_t> sent = transfer(host, made, manifest);
    REQUIRE_MESSAGE(sent, (sent ? "" : sent.error().message));
    longest = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - begin);
    REQUIRE(files_of(host.home("code")) == files_of(manifest));
    REQUIRE(has_contents(host.home("code"), manifest));
    CHECK_FALSE(fs::exists(host.home("code/.dtrain/staging")));
    CHECK(transfer(host, made, manifest).value() == 0);
  }
  CHECK(killed > 0);
}

TEST_CASE("a new tree that is killed is not there, or whole") {
  StoreFixture host;
  const std::vector<Manifest> trees = stored_trees(host);
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
