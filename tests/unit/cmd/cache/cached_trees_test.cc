#include "cmd/cache/cached_trees.h"

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/format.h"
#include "cmd/cache/cache_command.h"
#include "launcher/sync/setup/setup_run.h"
#include "launcher/sync/store/object_store.h"
#include "launcher/sync/store/store_folder.h"
#include "launcher/sync/store/tree_site.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("cache_line: the size, the state and the path") {
  CHECK(megabytes(2'500'000) == "2.5 MB");
  CHECK(cache_line({.bytes = 12'340'000, .state = "in use", .path = "/a\n"}) ==
        " 12.3 MB  in use                /a\\x0A\n");
}

TEST_CASE("keeps_trees: only where a job has left a place for them") {
  const TemporaryFolder folder;
  CHECK_FALSE(keeps_trees(folder.path()));
  CHECK(list_trees(folder.path()).empty());
  CHECK(clear_trees_and_objects(folder.path()).value().empty());
  std::filesystem::create_directory(folder.path() + "/trees");
  CHECK(keeps_trees(folder.path()));
}

TEST_CASE("trees and objects of --sync are listed and removed, but not those of a running job") {
  const TemporaryFolder folder;
  const std::string cache = folder.path() + "/cache";
  const StoreFolder store = StoreFolder::find({cache}).value();
  TreeEntry entry = {.path = "train.py"};
  entry.size = 8;
  entry.digest = sha256(as_bytes("print(1)"));
  {
    ObjectStore objects = ObjectStore::open(store).value();
    ContentWriter writer = objects.create(entry).value();
    REQUIRE(writer.write(as_bytes("print(1)")));
    REQUIRE(writer.commit());
    TreeSite left = TreeSite::open({.job = "left"}, store).value();
    REQUIRE(left.build({.entries = {entry}}, objects, {}));
    folder.write("cache/trees/left/model.pt", std::string(1'500'000, 'x'));
    REQUIRE(left.close());
    TreeSite running = TreeSite::open({.job = "running"}, store).value();
    REQUIRE(running.build({.entries = {entry}}, objects, {}));
    const std::string listed = list_cache({cache});
    CHECK(listed.find("  1.5 MB  last used 2") != std::string::npos);
    CHECK(listed.find(cache + "/trees/left\n") != std::string::npos);
    CHECK(listed.find(format("  0.0 MB  in use                {}/trees/running\n", cache)) !=
          std::string::npos);
    CHECK(listed.find(format("  0.0 MB  1 file                {}/objects\n", cache)) !=
          std::string::npos);
    CHECK(clear_cache({cache}).value() == format("removed 1 tree (1.5 MB) in {0}/trees\n"
                                                 "1 tree in use left in {0}/trees\n"
                                                 "all files in use left in {0}/objects\n",
                                                 cache));
    CHECK(folder.read("cache/trees/running/train.py") == "print(1)");
  }
  CHECK(clear_cache({cache}).value() == format("removed 1 tree (0.0 MB) in {0}/trees\n"
                                               "removed 1 file (0.0 MB) in {0}/objects\n",
                                               cache));
  CHECK_FALSE(std::filesystem::exists(cache));
  CHECK(clear_cache({cache}).value() == "no copies of dtrain\n");
}

TEST_CASE("leftovers of killed jobs, of every kind, are one line, and are removed") {
  const TemporaryFolder folder;
  const std::string cache = folder.path() + "/cache";
  folder.write("cache/trees/killed.own/lock", "");
  folder.write("cache/objects/new.killed", std::string(1'000'000, 'x'));
  folder.write("cache/setups/killed.lock", "");
  folder.write("cache/checkouts/killed.lock", "");
  folder.write("cache/markers/killed/one", "");
  chmod(cache.c_str(), 0700);
  CHECK(list_cache({cache}) == format("  1.0 MB  5 leftovers           {}\n", cache));
  CHECK(clear_cache({cache}).value() ==
        format("removed 5 leftovers of killed jobs (1.0 MB) in {}\n", cache));
  CHECK_FALSE(std::filesystem::exists(cache));
}

TEST_CASE("setups are listed and removed, but not those of a running job") {
  const TemporaryFolder folder;
  const std::string cache = folder.path() + "/cache";
  SetupDone done = run_setup({.commands = {"head -c 2500000 /dev/zero > $DTRAIN_SETUP_DIR/file"},
                              .environment = {"PATH=/usr/bin:/bin"},
                              .folder = folder.path(),
                              .store = cache},
                             {.output = [](std::string_view) -> Result<> { return {}; }})
                       .value();
  CHECK(list_cache({cache}) == format("  2.5 MB  in use                {}\n", done.place.folder));
  CHECK(clear_cache({cache}).value() == format("1 setup in use left in {}/setups\n", cache));
  done.lock.reset();
  CHECK(list_cache({cache}).starts_with("  2.5 MB  last used 2"));
  CHECK(clear_cache({cache}).value() == format("removed 1 setup (2.5 MB) in {}/setups\n", cache));
  CHECK_FALSE(std::filesystem::exists(cache));
}

}  // namespace
}  // namespace dt
