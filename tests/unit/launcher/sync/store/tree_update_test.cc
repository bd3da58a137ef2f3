#include "launcher/sync/store/tree_update.h"

#include "base/io/fd.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/tree_writer.h"
#include "tests/unit/launcher/sync/store/small_disk.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

namespace dt {
namespace {

namespace fs = std::filesystem;

TEST_CASE("apply_changes: the index has the whole tree, with the facts after the renames") {
  StoreFixture host;
  host.write("tree/old", "1");
  host.write("tree/keep", "2");
  const Manifest manifest = host.files({{"d/new", "3"}, {"keep", "2"}});
  TreeIndex known;
  struct stat status = {};
  REQUIRE(::stat(host.home("tree/old").c_str(), &status) == 0);
  known.placed.push_back({.entry = sync_file("old", "1"), .facts = facts_of(status)});
  const Fd root = open_folder(AT_FDCWD, host.home("tree").c_str());
  TreeChanges changes = compare_tree(root.get(), manifest, known).value();
  CHECK(changes.put == std::vector<size_t>{0});
  CHECK(changes.remove == std::vector<std::string>{"old"});
  REQUIRE(changes.in_place.placed.size() == 1);
  TreeWriter writer(manifest, host.objects, {});
  TreeStaging files(host.home("staging"));
  REQUIRE(files.open(manifest, changes.put, {.root = root.get(), .known = known}));
  const TreeIndex staged = writer.stage(files, changes.put).value();
  CHECK(host.read("staging/0") == "3");
  CHECK(staged.placed[0].facts.ctime_ns == 0);
  const Fd staging = open_folder(AT_FDCWD, host.home("staging").c_str());
  const UpdateFolders folders = {.root = root.get(), .staging = staging.get(), .shown = "tree"};
  const TreeIndex index = apply_changes(folders, manifest, changes).value();
  CHECK(host.read("tree/d/new") == "3");
  CHECK_FALSE(fs::exists(host.home("tree/old")));
  const TreeChanges again = compare_tree(root.get(), manifest, index).value();
  CHECK(again.none());
  CHECK(again.in_place == index);
}

TEST_CASE("apply_changes: a staged file that is gone is named, with the tree") {
  StoreFixture host;
  fs::create_directories(host.home("tree"));
  const Manifest manifest = host.files({{"new", "3"}});
  const Fd root = open_folder(AT_FDCWD, host.home("tree").c_str());
  const UpdateFolders folders = {.root = root.get(), .staging = root.get(), .shown = "/the/tree"};
  TreeChanges changes = compare_tree(root.get(), manifest, {}).value();
  const Error error = apply_changes(folders, manifest, changes).error();
  CHECK(error.message.starts_with("cannot put new into /the/tree: No such file or directory"));
}

TEST_CASE("a full disk leaves the tree as it was, and the next build completes it") {
  const SmallDisk disk(1024);
  if (!disk.there()) return;
  StoreFixture host;
  SiteOrder order = {.job = "job1", .target = disk.path() + "/code"};
  Manifest first = host.files({{"a", "old"}, {"gone", "x"}});
  TreeSite site = TreeSite::open(order, host.store).value();
  REQUIRE(site.build(first, host.objects, {}));
  Manifest large = host.files({{"a", "new"}, {"b", std::string(600'000, 'b')}});
  host.add(large, "c/d", std::string(600'000, 'c'));
  const Error error = site.build(large, host.objects, {}).error();
  CHECK(error.code == Errc::os);
  CHECK(error.message.starts_with("cannot make c/d in " + disk.path() + "/code"));
  CHECK(error.message.ends_with(": No space left on device"));
  CHECK(compare_tree(open_folder(AT_FDCWD, site.root().c_str()).get(), first, {})
            .value()
            .put.empty());
  CHECK_FALSE(fs::exists(disk.path() + "/code/.dtrain/staging"));
  const Manifest small = host.files({{"a", "new"}, {"b", std::string(600'000, 'b')}});
  CHECK(site.build(small, host.objects, {}));
  CHECK_FALSE(fs::exists(disk.path() + "/code/gone"));
}

TEST_CASE("a full disk leaves no part of a new tree, and no part of an object") {
  const SmallDisk disk(1024);
  if (!disk.there()) return;
  const StoreFolder store = StoreFolder::find({disk.path() + "/store"}).value();
  const ObjectStore objects = ObjectStore::open(store).value();
  const std::string content(600'000, 'a');
  put_object(objects, content);
  const TreeEntry large = sync_file("data/large", std::string(600'000, 'b'));
  {
    ContentWriter writer = objects.create(large).value();
    const Error error = writer.write(as_bytes(std::string(600'000, 'b'))).error();
    CHECK(error.message.starts_with("cannot store data/large on this host: "));
    CHECK(error.message.ends_with(": No space left on device"));
  }
  Manifest manifest;
  StoreFixture::add(manifest, sync_file("a", content));
  TreeSite site = TreeSite::open({.job = "job1"}, store).value();
  CHECK(site.build(manifest, objects, {}).error().message.ends_with(": No space left on device"));
  CHECK_FALSE(fs::exists(site.root()));
  CHECK(site.close());
  CHECK(fs::is_empty(disk.path() + "/store/trees"));
}

TEST_CASE("a store that is read-only, full or noexec is skipped") {
  const SmallDisk disk(64);
  if (!disk.there()) return;
  const TemporaryFolder folder;
  const std::string candidate = disk.path() + "/store";
  REQUIRE(StoreFolder::find({candidate}));
  std::string reason;
  SUBCASE("read-only") {
    REQUIRE(disk.remount(MS_RDONLY));
    reason = "Read-only file system";
  }
  SUBCASE("noexec") {
    REQUIRE(disk.remount(MS_NOEXEC));
    reason = "noexec";
  }
  SUBCASE("full") {
    std::ofstream(disk.path() + "/large") << std::string(100'000, 'x');
    reason = "No space left on device";
  }
  const std::string good = folder.path() + "/good";
  CHECK(StoreFolder::find({candidate, good}).value().path() == good);
  CHECK(StoreFolder::find({candidate}).error().message.find(reason) != std::string::npos);
}

}  // namespace
}  // namespace dt
