#include "launcher/sync/server/folder_in_tree.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("folder_in_tree() is the place of the current folder, or that of --chdir") {
  const TreeFacts at_root = {.root = "/src/tree"};
  const TreeFacts below = {.root = "/src/tree", .place = "part/deep"};
  const auto folder = [](const TreeFacts& tree, const char* chdir) {
    return folder_in_tree(tree, chdir == nullptr ? std::nullopt : std::optional<std::string>(chdir))
        .value_or("fails");
  };
  CHECK(folder(at_root, nullptr).empty());
  CHECK(folder(below, nullptr) == "part/deep");
  CHECK(folder(at_root, "x") == "x");
  CHECK(folder(at_root, "./x/") == "x/");
  CHECK(folder(below, "..") == "part/");
  CHECK(folder(below, "../..").empty());
  CHECK(folder(below, "../../../other") == "fails");
  CHECK(folder(below, "../../..") == "fails");
  CHECK(folder(at_root, "..") == "fails");
  CHECK(folder(below, "/src/tree/x") == "x");
  CHECK(folder(below, "/src/tree").empty());
  CHECK(folder(below, "/src/tree2") == "fails");
  CHECK(folder(below, "/") == "fails");
}

TEST_CASE("a folder of the tasks that no copy has is named, with what takes it") {
  using Kind = TreeEntry::Kind;
  Manifest manifest;
  manifest.entries = {{.path = "a.sh"},
                      {.path = "empty", .kind = Kind::folder},
                      {.path = "link", .kind = Kind::link, .target = "part"},
                      {.path = "part-2/file"},
                      {.path = "part/deep/file"},
                      {.path = "part0/link", .kind = Kind::link, .target = "../part"}};
  const auto why = [&](std::string_view folder, std::optional<std::string> chdir = {}) {
    const auto checked = check_folder_in_copy(manifest, folder, chdir);
    return checked ? "" : checked.error().message;
  };
  for (const char* const folder : {"", "empty", "link", "link/deep", "part", "part/", "part/deep",
                                   "part0", "part0/link", "part0/link/deep", "part-2"}) {
    CAPTURE(folder);
    CHECK(why(folder).empty());
  }
  CHECK(why("ign dir") ==
        "the current folder 'ign dir' is not among the files of --sync (git ignores it, "
        "--sync-exclude has it, or it has no files); cd elsewhere, use --chdir, or take it with "
        "--sync-include 'ign dir'");
  CHECK(why("part/ign", "ign") ==
        "--chdir: the folder part/ign is not among the files of --sync (git ignores it, "
        "--sync-exclude has it, or it has no files); use another, or take it with --sync-include "
        "part/ign");
  CHECK(why("a.sh", "a.sh") == "--chdir: a.sh is a file in the tree of --sync");
  for (const char* const folder : {"a", "par", "part/deep/file/x", "empty/x", "z", "part1"}) {
    CAPTURE(folder);
    CHECK_FALSE(why(folder).empty());
  }
}

}  // namespace
}  // namespace dt
