#include "launcher/sync/store/store_folder.h"

#include "base/format.h"
#include "tests/unit/another_user.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("store_candidates: the home's, the runtime folder's, and that of /tmp") {
  const std::string temporary = format("/tmp/dtrain-{}", ::getuid());
  CHECK(store_candidates({{"HOME", "/h"}, {"XDG_RUNTIME_DIR", "/r"}}) ==
        std::vector<std::string>{"/h/.cache/dtrain", "/r/dtrain", temporary});
  CHECK(store_candidates({{"HOME", "relative"}}) == std::vector<std::string>{temporary});
}

TEST_CASE("the first candidate is made, for its user alone, and nothing is left there") {
  const TemporaryFolder folder;
  const std::string wanted = folder.path() + "/home/.cache/dtrain";
  const StoreFolder store = StoreFolder::find({wanted, folder.path() + "/other"}).value();
  CHECK(store.path() == wanted);
  CHECK(std::filesystem::is_empty(wanted));
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/other"));
  struct stat status = {};
  REQUIRE(::stat(wanted.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(store.folder("objects").value() == wanted + "/objects");
  CHECK(std::filesystem::is_directory(wanted + "/objects"));
}

TEST_CASE("a candidate that cannot be used is skipped, and the error has each reason") {
  const TemporaryFolder folder;
  folder.write("file", "x");
  const std::string blocked = folder.path() + "/file/dtrain";
  const std::string open = folder.path() + "/open";
  std::filesystem::create_directory(open);
  std::filesystem::permissions(open, std::filesystem::perms::all);
  const std::string good = folder.path() + "/good";
  CHECK(StoreFolder::find({blocked, open, good}).value().path() == good);
  const Error error = StoreFolder::find({blocked, open}).error();
  CHECK(error.code == Errc::os);
  CHECK(error.message.find(blocked + ": Not a directory") != std::string::npos);
  CHECK(error.message.find(open + ": it must be yours, and no other may write there") !=
        std::string::npos);
}

TEST_CASE("a candidate in which files cannot be made is skipped") {
  // procfs and sysfs are read-only in this sense also for root.
  const TemporaryFolder folder;
  const std::string good = folder.path() + "/good";
  CHECK(StoreFolder::find({"/proc/self/dtrain", good}).value().path() == good);
}

TEST_CASE("a folder behind a link of another user is foreign") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/target");
  std::filesystem::permissions(folder.path() + "/target", std::filesystem::perms::owner_all);
  const std::string link = folder.path() + "/link";
  std::filesystem::create_directory_symlink(folder.path() + "/target", link);
  CHECK(foreign_folder(link) == "");
  CHECK(StoreFolder::find({link}).value().path() == folder.path() + "/target");
  if (give_to_another_user(link)) CHECK(foreign_folder(link) != "");
}

}  // namespace
}  // namespace dt
