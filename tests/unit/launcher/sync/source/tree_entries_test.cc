#include "launcher/sync/source/tree_entries.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("paths become entries in order, each once; folders are returned, missing ones skipped") {
  const TemporaryFolder folder;
  folder.write("b/file", "12");
  folder.write("a", "1");
  auto entries = TreeEntries::open(folder.path());
  REQUIRE(entries);
  const auto folders = entries->add({"b", "b/file", "b/none", "none/x"});
  REQUIRE(folders);
  CHECK(*folders == std::vector<std::string>{"b"});
  REQUIRE(entries->add({"a", "b/file"}));
  entries->add_empty_folder("aa");
  entries->add_unreadable("z");
  FoundTree tree;
  REQUIRE(entries->finish(false, tree));
  REQUIRE(tree.entries.size() == 3);
  CHECK(tree.entries[0].entry.path == "a");
  CHECK(tree.entries[1].entry.kind == TreeEntry::Kind::folder);
  CHECK(tree.entries[2].entry.path == "b/file");
  CHECK(tree.total_bytes() == 3);
  REQUIRE(tree.warnings.size() == 1);
  CHECK(tree.warnings[0] == "--sync leaves out 1 file that cannot be read: 'z'");
}

TEST_CASE("some names are the first three and a count") {
  CHECK(some_names({"a"}) == "'a'");
  CHECK(some_names({"a", "b\n", "c"}) == "'a', 'b\\x0A', 'c'");
  CHECK(some_names({"a", "b", "c", "d", "e"}) == "'a', 'b', 'c' and 2 more");
}

}  // namespace
}  // namespace dt
