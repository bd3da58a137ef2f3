#include "launcher/sync/fetch/fetch_target.h"

#include "base/format.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>

namespace dt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t far_future_ns = int64_t{4'000'000'000} * 1'000'000'000;

FileFacts facts_at(const std::string& path) {
  struct stat status = {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return facts_of(status);
}

std::string fetch(FetchTarget& target, const FetchedFile& file, std::string_view content) {
  REQUIRE(target.begin(file));
  REQUIRE(target.write(as_bytes(content.substr(0, 2))));
  REQUIRE(target.write(as_bytes(content.substr(2))));
  return target.commit().value();
}

TEST_CASE("a fetched file gets its place, with its folders, and replaces one of before the start") {
  const TemporaryFolder folder;
  folder.write("here/out/old.txt", "old");
  FetchTarget target =
      FetchTarget::open(
          {.folder = folder.path() + "/here", .job = "j1", .started_ns = far_future_ns})
          .value();
  CHECK(fetch(target, {.path = "out/deep/model.pt"}, "weights") == "out/deep/model.pt");
  CHECK(fetch(target, {.path = "out/old.txt"}, "new") == "out/old.txt");
  CHECK(fetch(target, {.path = "run.sh", .executable = true}, "#!/bin/sh") == "run.sh");
  CHECK(folder.read("here/out/deep/model.pt") == "weights");
  CHECK(folder.read("here/out/old.txt") == "new");
  CHECK((fs::status(folder.path() + "/here/run.sh").permissions() & fs::perms::owner_exec) !=
        fs::perms::none);
  CHECK(target.warning().empty());
}

TEST_CASE("a file that changed since the start stays, and one warning names all") {
  const TemporaryFolder folder;
  folder.write("here/same", "1");
  folder.write("here/edited", "2");
  folder.write("here/new", "3");
  FetchOrder order = {.folder = folder.path() + "/here", .job = "j1"};
  order.at_start["same"] = facts_at(folder.path() + "/here/same");
  order.at_start["edited"] = facts_at(folder.path() + "/here/edited");
  folder.write("here/edited", "mine");
  FetchTarget target = FetchTarget::open(order).value();
  CHECK(fetch(target, {.path = "same"}, "fetched") == "same");
  CHECK(fetch(target, {.path = "edited"}, "fetched") == "edited.dtrain-j1");
  CHECK(target.warning() ==
        format("one file in {}/here changed while the job ran; --fetch put its new content beside, "
               "with .dtrain-j1 behind the name: edited",
               folder.path()));
  // It was not there at the start, which was in 1970.
  CHECK(fetch(target, {.path = "new"}, "fetched") == "new.dtrain-j1");
  CHECK(target.warning().starts_with("2 files in "));
  CHECK(folder.read("here/same") == "fetched");
  CHECK(folder.read("here/edited") == "mine");
  CHECK(folder.read("here/edited.dtrain-j1") == "fetched");
  CHECK(folder.read("here/new") == "3");
}

TEST_CASE("a fetched file that is not committed leaves nothing") {
  const TemporaryFolder folder;
  {
    FetchTarget target =
        FetchTarget::open({.folder = folder.path() + "/here", .job = "j1"}).value();
    REQUIRE(target.begin({.path = "a"}));
    REQUIRE(target.write(as_bytes("half")));
    REQUIRE(target.begin({.path = "b"}));
    REQUIRE(target.write(as_bytes("half")));
  }
  CHECK(fs::is_empty(folder.path() + "/here"));
}

TEST_CASE("no fetched file goes through a link or out of the folder") {
  const TemporaryFolder folder;
  folder.write("outside/file", "safe");
  fs::create_directory(folder.path() + "/here");
  fs::create_directory_symlink(folder.path() + "/outside", folder.path() + "/here/folder");
  fs::create_symlink("../outside/file", folder.path() + "/here/file");
  FetchTarget target =
      FetchTarget::open(
          {.folder = folder.path() + "/here", .job = "j1", .started_ns = far_future_ns})
          .value();
  for (const char* path :
       {"folder/file", "../outside/file", "/outside/file", "a/../../outside/file"}) {
    CAPTURE(path);
    CHECK_FALSE(target.begin({.path = path}));
  }
  // The link itself is replaced.
  CHECK(fetch(target, {.path = "file"}, "fetched") == "file");
  CHECK(fs::is_regular_file(fs::symlink_status(folder.path() + "/here/file")));
  CHECK(folder.read("outside/file") == "safe");
  CHECK(std::distance(fs::directory_iterator(folder.path() + "/outside"), {}) == 1);
}

TEST_CASE("a fetched link is a link, and the rules for changed files hold for it") {
  const TemporaryFolder folder;
  const std::string here = folder.path() + "/here";
  folder.write("here/out/model", "weights");
  folder.write("here/old", "old");
  fs::create_symlink("model", here + "/out/same");
  fs::create_symlink("mine", here + "/out/edited");
  FetchOrder order = {.folder = here, .job = "j1"};
  order.at_start["old"] = facts_at(here + "/old");
  order.at_start["out/edited"] = {};
  FetchTarget target = FetchTarget::open(order).value();
  const auto link = [&](const std::string& path, const std::string& aims) {
    REQUIRE(target.begin({.path = path, .target = aims}));
    return target.commit().value();
  };
  CHECK(link("out/new", "model") == "out/new");
  CHECK(link("out/same", "model") == "out/same");
  CHECK(link("old", "out/model") == "old");
  CHECK(target.warning().empty());
  CHECK(link("out/edited", "model") == "out/edited.dtrain-j1");
  CHECK(fs::read_symlink(here + "/out/new") == "model");
  CHECK(fs::read_symlink(here + "/old") == "out/model");
  CHECK(fs::read_symlink(here + "/out/edited") == "mine");
  CHECK(fs::read_symlink(here + "/out/edited.dtrain-j1") == "model");
  CHECK(folder.read("here/out/model") == "weights");
  // No name of a draft is left.
  CHECK(std::distance(fs::directory_iterator(here + "/out"), {}) == 5);
}

TEST_CASE("a link that leaves the folder is refused, in any order of links") {
  const TemporaryFolder folder;
  const std::string here = folder.path() + "/here";
  fs::create_directories(here + "/real");
  FetchTarget target =
      FetchTarget::open({.folder = here, .job = "j1", .started_ns = far_future_ns}).value();
  // "later" is a link to "." in a hostile list.
  for (const std::string aims : {"/etc/passwd", "..", "real/../../x", "later/../x"}) {
    CAPTURE(aims);
    const auto begun = target.begin({.path = "link", .target = aims});
    REQUIRE_FALSE(begun);
    CHECK(begun.error().code == Errc::refused);
  }
  const auto with_nul = target.begin({.path = "link", .target = std::string("a\0b", 3)});
  REQUIRE_FALSE(with_nul);
  CHECK(with_nul.error().code == Errc::refused);
  CHECK(target.begin({.path = "link", .target = "real/../x"}));
  CHECK(target.commit().value() == "link");
  // A folder keeps its name.
  REQUIRE(target.begin({.path = "real", .target = "x"}));
  const auto named = target.commit();
  REQUIRE_FALSE(named);
  CHECK(named.error().code == Errc::refused);
  target.drop();
  CHECK(fs::is_directory(fs::symlink_status(here + "/real")));
  CHECK(std::distance(fs::directory_iterator(here), {}) == 2);
}

TEST_CASE("bytes and an end without a fetched file break the protocol") {
  const TemporaryFolder folder;
  FetchTarget target = FetchTarget::open({.folder = folder.path(), .job = "j1"}).value();
  const auto written = target.write(as_bytes("x"));
  const auto ended = target.commit();
  REQUIRE_FALSE(written);
  REQUIRE_FALSE(ended);
  CHECK(written.error().code == Errc::protocol);
  CHECK(ended.error().code == Errc::protocol);
}

TEST_CASE("a folder that cannot be written is named") {
  const TemporaryFolder folder;
  folder.write("file", "x");
  const Error error = FetchTarget::open({.folder = folder.path() + "/file", .job = "j"}).error();
  CHECK(error.code == Errc::input);
  CHECK(error.message.find(folder.path() + "/file") != std::string::npos);
}

}  // namespace
}  // namespace dt
