#include "launcher/sync/source/make_manifest.h"

#include "launcher/sync/source/find_tree.h"
#include "launcher/sync/source/folder_below.h"
#include "tests/unit/launcher/connect/message_form.h"
#include "tests/unit/launcher/sync/source/git_trees.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace dt {
namespace {

namespace fs = std::filesystem;

/// A tree, and a memory in a folder of its own.
struct HashedTree {
  TemporaryFolder code = {};
  TemporaryFolder cache = {};
  /// The files are older than two seconds for it.
  WallClock::time_point now = WallClock::now() + std::chrono::hours(1);

  FoundTree find() const {
    auto tree = find_tree({}, {.folder = code.path(), .environment = clean_git_environment()});
    REQUIRE(tree);
    return *std::move(tree);
  }
  Result<MadeManifest> make(const FoundTree& tree) const {
    DigestMemory memory = DigestMemory::load(cache.path(), tree.root);
    auto made = make_manifest(tree, memory, now);
    CHECK(memory.save());
    return made;
  }
};

TEST_CASE("a manifest has the digests of all files; the second run reads none of them") {
  const HashedTree tree;
  tree.code.write("a", "abc", 0700);
  tree.code.write("empty", "");
  tree.code.write("large", std::string(1'000'000, 'x'));
  fs::create_symlink("a", tree.code.path() + "/link");
  const auto first = tree.make(tree.find());
  REQUIRE(first);
  CHECK(first->hashed == HashedFiles{.files = 3, .bytes = 1'000'003});
  const auto& entries = first->manifest.entries;
  REQUIRE(entries.size() == 4);
  CHECK(entries[0].digest == sha256(as_bytes("abc")));
  CHECK(entries[0].executable);
  CHECK(entries[1].digest == sha256({}));
  CHECK(entries[2].digest == sha256(as_bytes(std::string(1'000'000, 'x'))));
  CHECK(entries[2].size == 1'000'000);
  CHECK(entries[3].target == "a");
  const auto second = tree.make(tree.find());
  REQUIRE(second);
  CHECK(second->hashed == HashedFiles{});
  CHECK(second->manifest == first->manifest);
  tree.code.write("a", "abcd");
  const auto third = tree.make(tree.find());
  REQUIRE(third);
  CHECK(third->hashed == HashedFiles{.files = 1, .bytes = 4});
  CHECK(third->manifest.entries[0].digest == sha256(as_bytes("abcd")));
}

TEST_CASE("files that changed just now are hashed by the next run again") {
  HashedTree tree;
  tree.now = WallClock::now();
  tree.code.write("a", "abc");
  CHECK(tree.make(tree.find())->hashed.files == 1);
  CHECK(tree.make(tree.find())->hashed.files == 1);
}

TEST_CASE("a file that changed since it was listed has its new size, and a missing one is named") {
  const HashedTree tree;
  tree.code.write("a", "abc");
  tree.code.write("b", "abc");
  const FoundTree found = tree.find();
  tree.code.write("a", "abcdef", 0700);
  const auto made = tree.make(found);
  REQUIRE(made);
  CHECK(made->manifest.entries[0].size == 6);
  CHECK(made->manifest.entries[0].executable);
  fs::remove(tree.code.path() + "/b");
  const auto gone = tree.make(found);
  // Its digest is known, so it is not read; it is missed when it is sent.
  CHECK(gone);
  FoundTree other = found;
  other.entries[1].facts.inode += 1;
  const auto missed = tree.make(other);
  REQUIRE_FALSE(missed);
  CHECK(missed.error().code == Errc::input);
  CHECK(missed.error().message == "--sync: the file 'b' has been removed; run again");
  fs::create_symlink("a", tree.code.path() + "/b");
  CHECK(tree.make(other).error().message.find("'b' cannot be read") != std::string::npos);
  fs::remove(tree.code.path() + "/b");
  fs::create_directory(tree.code.path() + "/b");
  CHECK(tree.make(other).error().message.find("'b' is no file any more") != std::string::npos);
}

TEST_CASE("a file that grows while it is read is read again, three times, and then named") {
  const TemporaryFolder folder;
  folder.write("log", std::string(1'000'000, 'x'));
  const auto root = open_tree_root(folder.path());
  REQUIRE(root);
  int appended = 0;
  const auto growing = [&](int times) {
    return hash_file(*root, "log", [&, times](uint64_t) {
      if (appended >= times) return;
      std::ofstream(folder.path() + "/log", std::ios::app) << "y";
      ++appended;
    });
  };
  const auto settled = growing(1);
  REQUIRE(settled);
  CHECK(settled->facts.size == 1'000'001);
  const auto failed = growing(1'000'000);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Errc::input);
  CHECK(failed.error().message.find("'log' changed while it was read, 3 times") !=
        std::string::npos);
  CHECK(fault_of_message(failed.error().message) == "");
}

}  // namespace
}  // namespace dt
