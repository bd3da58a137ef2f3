#include "launcher/sync/source/tree_size.h"

#include "base/format.h"
#include "tests/unit/launcher/connect/message_form.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

FoundTree tree_of(std::initializer_list<std::pair<const char*, uint64_t>> files) {
  FoundTree tree{.root = "/home/u/code"};
  for (const auto& [path, size] : files)
    tree.entries.push_back({.entry = {.path = path, .size = size}, .facts = {}});
  return tree;
}

TEST_CASE("the largest entries are files and the folders that hold nearly all bytes") {
  const FoundTree tree = tree_of({{"README", 1},
                                  {"big.bin", 500},
                                  {"empty", 0},
                                  {"src/a.py", 10},
                                  {"src/data/x", 2000},
                                  {"src/data/y", 2000},
                                  {"src/z.py", 10},
                                  {"t/one", 30},
                                  {"t/two", 40}});
  CHECK(largest_entries(tree, 10) ==
        std::vector<LargeEntry>{{.path = "src/data", .bytes = 4000, .folder = true},
                                {.path = "big.bin", .bytes = 500},
                                {.path = "t", .bytes = 70, .folder = true},
                                {.path = "README", .bytes = 1}});
  CHECK(largest_entries(tree, 1).size() == 1);
  CHECK(largest_entries({}, 10).empty());
}

TEST_CASE("a tree above --sync-max is refused with the options that exclude its largest entries") {
  FoundTree tree = tree_of({{"a*", 3 << 20}, {"data/x", 5 << 20}, {"z", 1 << 20}});
  CHECK(check_tree_size(tree, 9 << 20));
  const auto refused = check_tree_size(tree, 2 << 20);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::input);
  CHECK(refused.error().message ==
        "--sync: the tree /home/u/code has 3 files, 9 MiB; --sync-max allows 2 MiB\n"
        "the largest: data/x (5 MiB), a* (3 MiB), z (1 MiB)\n"
        "leave out what the hosts do not need (--sync-exclude data/x --sync-exclude 'a\\*'), or "
        "allow more by --sync-max");
  for (int i = 0; i < 30; ++i)
    tree.entries.push_back(
        {.entry = {.path = format("zz{:0200}", i), .size = 7 << 20}, .facts = {}});
  CHECK(fault_of_message(check_tree_size(tree, 1).error().message) == "");
}

TEST_CASE("--dry-run shows count, bytes, commit, the largest, and what is left out") {
  FoundTree tree = tree_of({{"a", 100}, {"b", 2048}});
  tree.commit = "0123abc";
  tree.dirty = true;
  tree.warnings = {"--sync leaves out 1 link that leaves the tree: 'x'"};
  CHECK(tree_text(tree) ==
        "sync: 2 files, 2.1 KiB from /home/u/code, commit 0123abc (dirty)\n"
        "sync: the largest: b (2 KiB), a (100 bytes)\n"
        "--sync leaves out 1 link that leaves the tree: 'x'\n");
  CHECK(tree_text({.root = "/x"}) == "sync: 0 files, 0 bytes from /x\n");
}

TEST_CASE("amounts have one decimal below 100") {
  CHECK(amount_text(1) == "1 byte");
  CHECK(amount_text(1023) == "1023 bytes");
  CHECK(amount_text(1536) == "1.5 KiB");
  CHECK(amount_text(uint64_t{2} << 30) == "2 GiB");
  CHECK(amount_text(uint64_t{200} << 40) == "200 TiB");
}

}  // namespace
}  // namespace dt
