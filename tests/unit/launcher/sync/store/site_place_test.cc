#include "launcher/sync/store/site_place.h"

#include "tests/unit/another_user.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>

namespace dt {
namespace {

namespace fs = std::filesystem;

TEST_CASE("find_place: below the store, below the home, or absolute") {
  StoreFixture host;
  fs::create_directories(host.home("real"));
  fs::create_directory_symlink("real", host.home("link"));
  CHECK(find_place(host.order(""), host.store).value().root == host.store.path() + "/trees/job1");
  CHECK(find_place(host.order(""), host.store).value().own ==
        host.store.path() + "/trees/job1.own");
  CHECK(find_place(host.order("code"), host.store).value().root == host.home("code"));
  CHECK(find_place(host.order("code/"), host.store).value().root == host.home("code"));
  CHECK(find_place(host.order("code"), host.store).value().own == host.home("code/.dtrain"));
  CHECK(find_place(host.order("link/x"), host.store).value().root == host.home("real/x"));
  CHECK(find_place(host.order("/data/code"), host.store).value().root == "/data/code");
  CHECK_FALSE(fs::exists(host.home("code")));
}

TEST_CASE("find_place: bad jobs and targets") {
  StoreFixture host;
  for (const char* job : {"", ".", "..", "a/b", ".x"})
    CHECK(find_place(host.order("", job), host.store).error().code == Errc::input);
  const std::pair<const char*, const char*> cases[] = {
      {"../x", "--sync-to ../x: it must have no '..'; give the path that it means"},
      {"/a/../b", "--sync-to /a/../b: it must have no '..'; give the path that it means"},
      {"/", "--sync-to /: the root of the host cannot be a tree"},
  };
  for (const auto& [target, message] : cases)
    CHECK(find_place(host.order(target), host.store).error() == Error{Errc::input, message});
  SiteOrder homeless = host.order("code");
  homeless.home = "";
  CHECK(find_place(homeless, host.store).error().message ==
        "--sync-to code: this host has no home to find it in; give an absolute path");
}

TEST_CASE("find_place: a target in the source or above it is refused, also by links") {
  StoreFixture host;
  fs::create_directories(host.home("src/pkg"));
  fs::create_directory_symlink("src", host.home("link"));
  for (const char* target : {"src", "src/", "src/pkg", "src/new/deep", "link", "link/x", "."}) {
    CAPTURE(target);
    SiteOrder order = host.order(target);
    order.source_root = host.home("src");
    CHECK(find_place(order, host.store).error().code == Errc::input);
  }
  SiteOrder order = host.order("src2");
  order.source_root = host.home("src");
  CHECK(find_place(order, host.store));
}

TEST_CASE("a target that is a file, or has other files, is refused, and left alone") {
  StoreFixture host;
  host.write("file", "x");
  host.write("full/notes.txt", "mine");
  const Error file = TreeSite::open(host.order("file"), host.store).error();
  CHECK(file.message == "--sync-to file: a file is there; name a folder");
  const Error full = TreeSite::open(host.order("full"), host.store).error();
  CHECK(full.code == Errc::input);
  CHECK(full.message.starts_with(
      "--sync-to full: it has files that dtrain has not put there, such as notes.txt"));
  CHECK_FALSE(fs::exists(host.home("full/.dtrain")));
  SiteOrder into = host.order("full");
  into.into = true;
  CHECK(TreeSite::open(into, host.store));
  // It is one of dtrain's from now on.
  CHECK(TreeSite::open(host.order("full"), host.store));
  CHECK(host.read("full/notes.txt") == "mine");
}

TEST_CASE("with --sync-into, files of the same content are taken over, others are replaced") {
  StoreFixture host;
  host.write("full/same", "1");
  host.write("full/other", "mine");
  host.write("full/notes", "mine");
  SiteOrder into = host.order("full");
  into.into = true;
  const Manifest manifest = host.files({{"other", "2"}, {"same", "1"}});
  TreeSite site = TreeSite::open(into, host.store).value();
  host.objects.finish(WallClock::now(), 0);
  CHECK(site.lacking(manifest, host.objects).value() == std::vector<size_t>{0});
  put_object(host.objects, "2");
  REQUIRE(site.build(manifest, host.objects, {}));
  CHECK(host.read("full/other") == "2");
  CHECK(host.read("full/notes") == "mine");
  REQUIRE(site.build({}, host.objects, {}));
  CHECK_FALSE(fs::exists(host.home("full/same")));
  CHECK(host.read("full/notes") == "mine");
}

TEST_CASE("a target whose records belong to another user is refused") {
  StoreFixture host;
  fs::create_directories(host.home("code/.dtrain"));
  if (!give_to_another_user(host.home("code/.dtrain"))) return;
  const Error error = TreeSite::open(host.order("code"), host.store).error();
  CHECK(error.code == Errc::input);
  CHECK(error.message.find(".dtrain belongs to another user") != std::string::npos);
}

TEST_CASE("records behind a link are refused") {
  StoreFixture host;
  fs::create_directories(host.home("code"));
  fs::create_directories(host.home("elsewhere"));
  fs::create_directory_symlink("../elsewhere", host.home("code/.dtrain"));
  CHECK(TreeSite::open(host.order("code"), host.store).error().code == Errc::input);
  CHECK(fs::is_empty(host.home("elsewhere")));
}

TEST_CASE("a target that cannot be written is refused") {
  StoreFixture host;
  const Error error = TreeSite::open(host.order("/proc/self/code"), host.store).error();
  CHECK(error.code == Errc::input);
  CHECK(error.message.starts_with("--sync-to /proc/self/code: cannot make it: "));
}

}  // namespace
}  // namespace dt
