#include "launcher/sync/store/tree_staging.h"

#include "base/io/fd.h"
#include "launcher/sync/store/folder_walk.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string_view>
#include <vector>

namespace dt {
namespace {

namespace fs = std::filesystem;

/// A tree, and the folder of its next files.
class StagingFixture {
 public:
  StagingFixture() : root_(open_folder(AT_FDCWD, folder.path().c_str())) {}

  Result<> open(TreeStaging& staging) const {
    std::vector<size_t> numbers;
    for (size_t i = 0; i < manifest.entries.size(); ++i)
      numbers.push_back(i);
    return staging.open(manifest, numbers, {.root = root_.get(), .known = known});
  }
  void receive(TreeStaging& staging, size_t number, std::string_view content) const {
    ContentWriter writer = staging.create(manifest, number).value();
    REQUIRE(writer.write(as_bytes(content)));
    REQUIRE(writer.commit());
    staging.add(manifest, number);
  }
  std::string path() const { return folder.path() + "/staging"; }

  const TemporaryFolder folder;
  Manifest manifest;
  TreeIndex known;

 private:
  Fd root_;
};

TEST_CASE_FIXTURE(StagingFixture, "a received content is there under its number until clear()") {
  const mode_t mask = ::umask(027);
  manifest.entries = {sync_file("a", "1"), sync_file("run", "2", true)};
  TreeStaging staging(path());
  REQUIRE(open(staging));
  CHECK_FALSE(staging.find(sha256(as_bytes("2"))));
  receive(staging, 1, "2");
  ::umask(mask);
  CHECK(staging.find(sha256(as_bytes("2"))) == 1);
  CHECK(folder.read("staging/1") == "2");
  struct stat status = {};
  REQUIRE(::stat((path() + "/1").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0750);
  // Another call keeps it.
  REQUIRE(open(staging));
  CHECK(staging.find(sha256(as_bytes("2"))) == 1);
  folder.write("staging/0", "from an object");
  staging.clear_others();
  CHECK_FALSE(fs::exists(path() + "/0"));
  CHECK(fs::exists(path() + "/1"));
  staging.clear();
  CHECK_FALSE(fs::exists(path()));
  CHECK_FALSE(staging.find(sha256(as_bytes("2"))));
}

TEST_CASE_FIXTURE(StagingFixture, "a transfer that was cut leaves whole contents for the next") {
  manifest.entries = {sync_file("new", "first"), sync_file("y", "other"), sync_file("z", "third")};
  folder.write("staging/7", "first");
  folder.write("staging/0", "othe_");
  folder.write("staging/8", "not wanted");
  folder.write("staging.left/2", "older");
  folder.write("outside", "third");
  fs::create_symlink("../outside", path() + "/9");
  TreeStaging staging(path());
  REQUIRE(open(staging));
  CHECK(staging.find(sha256(as_bytes("first"))) == 0);
  CHECK_FALSE(staging.find(sha256(as_bytes("other"))));
  CHECK_FALSE(staging.find(sha256(as_bytes("third"))));
  CHECK(folder.read("staging/0") == "first");
  CHECK(std::distance(fs::directory_iterator(path()), {}) == 1);
  CHECK_FALSE(fs::exists(path() + ".left"));
}

TEST_CASE_FIXTURE(StagingFixture, "a content that the tree has at another path is copied") {
  manifest.entries = {sync_file("moved", "content"), sync_file("other", "edited"),
                      sync_file("run", "script", true)};
  known.placed = {{.entry = sync_file("before", "content")},
                  {.entry = sync_file("changed", "edited")},
                  {.entry = sync_file("gone", "edited")},
                  {.entry = sync_file("tool", "script")}};
  folder.write("before", "content");
  folder.write("changed", "ed_ted");
  folder.write("tool", "script");
  TreeStaging staging(path());
  REQUIRE(open(staging));
  CHECK(staging.find(sha256(as_bytes("content"))) == 0);
  CHECK(folder.read("staging/0") == "content");
  CHECK(folder.read("before") == "content");
  CHECK(fs::hard_link_count(path() + "/0") == 1);
  CHECK_FALSE(staging.find(sha256(as_bytes("edited"))));
  CHECK_FALSE(fs::exists(path() + "/1"));
  CHECK((fs::status(path() + "/2").permissions() & fs::perms::owner_exec) != fs::perms::none);
}

}  // namespace
}  // namespace dt
