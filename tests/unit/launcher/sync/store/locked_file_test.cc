#include "launcher/sync/store/locked_file.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace dt {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a locked file is free only after its process has closed it") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  CHECK_FALSE(take_free_lock(path));
  Result<Fd> held = make_locked_file(path);
  REQUIRE(held);
  CHECK(is_at(*held, path));
  CHECK_FALSE(fs::exists(path + ".new"));
  CHECK_FALSE(take_free_lock(path));
  CHECK(make_locked_file(path).error().code == Errc::refused);
  held->reset();
  CHECK(take_free_lock(path));
}

TEST_CASE("a locked file that is removed, or replaced, is not at its path") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  const Result<Fd> held = make_locked_file(path);
  REQUIRE(held);
  fs::remove(path);
  CHECK_FALSE(is_at(*held, path));
  folder.write("lock", "another");
  CHECK_FALSE(is_at(*held, path));
}

TEST_CASE("a lock that cannot be made leaves nothing, and a link is none") {
  const TemporaryFolder folder;
  CHECK(make_locked_file(folder.path() + "/none/lock").error().code == Errc::os);
  fs::create_directory(folder.path() + "/lock.new");
  CHECK_FALSE(make_locked_file(folder.path() + "/lock"));
  CHECK_FALSE(fs::exists(folder.path() + "/lock"));
  folder.write("file", "");
  fs::create_symlink("file", folder.path() + "/link");
  CHECK_FALSE(take_free_lock(folder.path() + "/link"));
}

TEST_CASE("Leftovers add up") {
  Leftovers all;
  all.add(5);
  all.add(Leftovers{.count = 2, .bytes = 10});
  CHECK(all == Leftovers{.count = 3, .bytes = 15});
}

}  // namespace
}  // namespace dt
