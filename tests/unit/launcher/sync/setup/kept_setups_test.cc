#include "launcher/sync/setup/kept_setups.h"

#include "launcher/sync/setup/setup_lock.h"
#include "launcher/sync/setup/setup_place.h"
#include "launcher/sync/setup/setup_run.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace dt {
namespace {

namespace fs = std::filesystem;

/// Sets up by a command that writes 5 bytes.
SetupDone kept_setup(const TemporaryFolder& store, const std::string& source) {
  const SetupOrder order{.commands = {"printf 12345 > $DTRAIN_SETUP_DIR/file"},
                         .environment = {"PATH=/usr/bin:/bin"},
                         .folder = store.path(),
                         .store = store.path(),
                         .source = source,
                         .once = true};
  return run_setup(order, {.output = [](std::string_view) -> Result<> { return {}; }}).value();
}

void make_older(const std::string& folder, std::chrono::hours age) {
  fs::last_write_time(folder + ".lock", fs::file_time_type::clock::now() - age);
}

TEST_CASE("setups are listed by age, with their bytes, and whether a job uses them") {
  const TemporaryFolder store;
  CHECK(list_kept_setups(store.path()).empty());
  SetupDone left = kept_setup(store, "a");
  left.lock.reset();
  const SetupDone used = kept_setup(store, "b");
  make_older(used.place.folder, std::chrono::hours(48));
  const std::vector<KeptSetup> setups = list_kept_setups(store.path());
  REQUIRE(setups.size() == 2);
  CHECK(setups[0].path == used.place.folder);
  CHECK(setups[0].in_use);
  CHECK(setups[1].path == left.place.folder);
  CHECK(setups[1].bytes == 5);
  CHECK(!setups[1].in_use);
  CHECK(setups[1].last_use - setups[0].last_use > std::chrono::hours(47));
}

TEST_CASE("setups are removed with lock and record, but not those of a running job") {
  const TemporaryFolder store;
  CHECK(clear_setups(store.path())->setups == 0);
  SetupDone left = kept_setup(store, "a");
  left.lock.reset();
  SetupDone used = kept_setup(store, "b");
  auto cleared = clear_setups(store.path());
  REQUIRE(cleared.has_value());
  CHECK(cleared->setups == 1);
  CHECK(cleared->bytes == 5);
  CHECK(cleared->in_use == 1);
  CHECK(!fs::exists(left.place.folder));
  CHECK(fs::exists(used.place.folder + "/file"));
  used.lock.reset();
  REQUIRE(clear_setups(store.path()).has_value());
  CHECK(fs::is_empty(setups_folder(store.path())));
  // The commands run again.
  CHECK(kept_setup(store, "a").commands_run == 1);
}

TEST_CASE("unfinished_setups: locks without a folder, and drafts of records") {
  const TemporaryFolder store;
  const SetupDone used = kept_setup(store, "used");
  store.write("setups/killed.lock", "");
  store.write("setups/killed.done.unfinished-00", "");
  CHECK(unfinished_setups(store.path(), LeftoverWork::count).count == 2);
  CHECK(unfinished_setups(store.path(), LeftoverWork::remove).count == 2);
  CHECK(unfinished_setups(store.path(), LeftoverWork::count).count == 0);
  CHECK(!fs::exists(store.path() + "/setups/killed.lock"));
  CHECK(fs::exists(used.place.folder));
}

TEST_CASE("what a setup's links lead to stays") {
  const TemporaryFolder store;
  const TemporaryFolder other;
  other.write("file", "x");
  SetupDone left = kept_setup(store, "a");
  fs::create_directory_symlink(other.path(), left.place.folder + "/link");
  left.lock.reset();
  REQUIRE(clear_setups(store.path()).has_value());
  CHECK(!fs::exists(left.place.folder));
  CHECK(other.read("file") == "x");
}

TEST_CASE("setups that no job has used for long are removed, and a job's use counts") {
  const TemporaryFolder store;
  const std::chrono::hours age(31 * 24);
  SetupDone old = kept_setup(store, "old");
  SetupDone again = kept_setup(store, "again");
  SetupDone running = kept_setup(store, "running");
  for (SetupDone* done : {&old, &again})
    done->lock.reset();
  for (const SetupDone* done : {&old, &again, &running})
    make_older(done->place.folder, age);
  again = kept_setup(store, "again");
  CHECK(again.commands_run == 0);
  again.lock.reset();
  prune_setups(store.path(), WallClock::now());
  CHECK(!fs::exists(old.place.folder));
  CHECK(fs::exists(again.place.folder));
  CHECK(fs::exists(running.place.folder));
}

}  // namespace
}  // namespace dt
