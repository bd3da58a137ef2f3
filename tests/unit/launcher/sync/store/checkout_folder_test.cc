#include "launcher/sync/store/checkout_folder.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace dt {
namespace {

namespace fs = std::filesystem;
constexpr auto two_days = std::chrono::hours(48);

TEST_CASE("the folder of a check-out is the user's alone, and ends with its object") {
  const TemporaryFolder folder;
  const StoreFolder store = StoreFolder::find({folder.path() + "/store"}).value();
  std::string path;
  {
    const auto checkout = CheckoutFolder::make(store, "job");
    REQUIRE(checkout);
    path = checkout->path();
    CHECK(path == store.path() + "/checkouts/job");
    struct stat status = {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
    fs::create_directories(path + "/deep/er");
    CHECK_FALSE(CheckoutFolder::make(store, "job"));
  }
  CHECK(fs::is_empty(store.path() + "/checkouts"));
}

TEST_CASE("left_checkouts: those without a launcher, of any age") {
  const TemporaryFolder folder;
  const StoreFolder store = StoreFolder::find({folder.path() + "/store"}).value();
  const auto running = CheckoutFolder::make(store, "running");
  REQUIRE(running);
  folder.write("store/checkouts/killed/file", "12345");
  folder.write("store/checkouts/killed.lock", "");
  CHECK(left_checkouts(store.path(), LeftoverWork::count) == Leftovers{.count = 1, .bytes = 5});
  CHECK(left_checkouts(store.path(), LeftoverWork::remove) == Leftovers{.count = 1, .bytes = 5});
  CHECK_FALSE(fs::exists(store.path() + "/checkouts/killed"));
  CHECK_FALSE(fs::exists(store.path() + "/checkouts/killed.lock"));
  CHECK(fs::exists(running->path()));
}

TEST_CASE("old check-outs without a launcher are removed, and others stay") {
  const TemporaryFolder folder;
  const StoreFolder store = StoreFolder::find({folder.path() + "/store"}).value();
  const std::string checkouts = store.path() + "/checkouts";
  const auto running = CheckoutFolder::make(store, "running");
  REQUIRE(running);
  for (const std::string name : {"killed", "new"}) {
    fs::create_directories(checkouts + "/" + name + "/.git");
    folder.write("store/checkouts/" + name + ".lock", "");
  }
  const auto now = WallClock::now();
  remove_old_checkouts(running->path(), now);
  CHECK(fs::exists(checkouts + "/killed"));
  fs::last_write_time(checkouts + "/killed.lock", fs::file_time_type::clock::now() - two_days);
  fs::last_write_time(checkouts + "/running.lock", fs::file_time_type::clock::now() - two_days);
  remove_old_checkouts(running->path(), now);
  CHECK_FALSE(fs::exists(checkouts + "/killed"));
  CHECK_FALSE(fs::exists(checkouts + "/killed.lock"));
  CHECK(fs::exists(checkouts + "/new"));
  CHECK(fs::exists(running->path()));
}

}  // namespace
}  // namespace dt
