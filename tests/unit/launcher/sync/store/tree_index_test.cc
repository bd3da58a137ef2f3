#include "launcher/sync/store/tree_index.h"

#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace dt {
namespace {

TreeIndex sample() {
  TreeIndex index;
  index.placed.push_back({.entry = sync_file("a\n\xff", "content", true),
                          .facts = {.inode = 3, .size = 7, .mtime_ns = -1, .ctime_ns = 5}});
  index.placed.push_back({.entry = sync_folder("b"), .facts = {}});
  index.placed.push_back({.entry = sync_link("c", "a"), .facts = {}});
  return index;
}

TEST_CASE("an index is written, replaced and read back") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/index";
  CHECK(read_tree_index(path) == TreeIndex{});
  CHECK(write_tree_index(path, {}));
  CHECK(write_tree_index(path, sample()));
  CHECK(read_tree_index(path) == sample());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  const Result<> failed = write_tree_index(folder.path() + "/none/index", sample());
  CHECK(failed.error().code == Errc::os);
}

TEST_CASE("an index that is cut or changed at any byte is none") {
  const Bytes bytes = encode(sample());
  CHECK(decode_tree_index(bytes).value() == sample());
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_tree_index(ByteSpan(bytes).first(size)));
  for (size_t at = 0; at < bytes.size(); ++at) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{1};
    CHECK_FALSE(decode_tree_index(changed));
  }
  const TemporaryFolder folder;
  folder.write("index", as_text(ByteSpan(bytes).first(bytes.size() - 1)));
  CHECK(read_tree_index(folder.path() + "/index") == TreeIndex{});
}

TEST_CASE("merged: the entries of both in the order of their paths, equal ones once") {
  TreeIndex other = sample();
  other.placed[0].facts.inode = 4;
  const TreeIndex both = merged(sample(), other);
  REQUIRE(both.placed.size() == 4);
  CHECK(both.placed[0].entry == both.placed[1].entry);
  CHECK(both.placed[0].facts != both.placed[1].facts);
  CHECK(both.placed[3].entry.path == "c");
  CHECK(merged(sample(), sample()) == sample());
  CHECK(merged({}, sample()) == sample());
}

}  // namespace
}  // namespace dt
