#include "launcher/sync/source/source_tree.h"

#include "tests/unit/launcher/sync/source/git_trees.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace dt {
namespace {

TEST_CASE("the tree of a URL has its name, its commit and no place of the current folder") {
  const TemporaryFolder folder;
  folder.write("app/part/train.py", "one");
  const std::string commit = make_repository(folder.path() + "/app");
  std::filesystem::create_directory(folder.path() + "/out");
  Environment environment = clean_git_environment();
  environment["HOME"] = folder.path();
  SyncOptions options;
  options.repository = GitSource{.url = "file://" + folder.path() + "/app", .ref = {}};
  const auto tree = find_source_tree(options, {folder.path() + "/app/part", environment},
                                     {.folder = folder.path() + "/out"});
  REQUIRE_MESSAGE(tree, (tree ? "" : tree.error().message));
  CHECK(tree->name == options.repository->url);
  CHECK(tree->found.commit == commit);
  CHECK_FALSE(tree->found.dirty);
  CHECK(tree->found.place.empty());
  CHECK(tree->found.root == std::filesystem::canonical(folder.path() + "/out").string());
  REQUIRE(tree->found.entries.size() == 1);
  CHECK(tree->found.entries[0].entry.path == "part/train.py");
  REQUIRE(tree->notes.size() == 1);
  CHECK(tree->notes[0].find("no REF given: branch main, commit " + commit) != std::string::npos);
}

TEST_CASE("the tree of a folder has the name of its root") {
  const TemporaryFolder folder;
  folder.write("code/part/train.py", "one");
  make_repository(folder.path() + "/code");
  const auto tree =
      find_source_tree({}, {folder.path() + "/code/part", clean_git_environment()}, {});
  REQUIRE(tree);
  CHECK(tree->name == tree->found.root);
  CHECK(tree->found.place == "part");
  CHECK(tree->notes.empty());
}

}  // namespace
}  // namespace dt
