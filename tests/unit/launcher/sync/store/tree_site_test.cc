#include "launcher/sync/store/tree_site.h"

#include "base/format.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

namespace dt {
namespace {

namespace fs = std::filesystem;

Result<> build_at(const StoreFixture& host, const SiteOrder& order, const Manifest& manifest) {
  TreeSite site = TRY(TreeSite::open(order, host.store));
  TRY(site.build(manifest, host.objects, {}));
  return site.close();
}

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

TEST_CASE("a new tree has files, modes, links and empty folders, and nothing of dtrain") {
  StoreFixture host;
  const mode_t mask = ::umask(027);
  Manifest manifest;
  host.add(manifest, "train.py", "print(1)");
  host.add(manifest, "bin/run", "#!/bin/sh", true);
  host.add(manifest, "a/b/c/empty", "");
  host.add(manifest, std::string("odd\n\xff name"), "odd");
  StoreFixture::add(manifest, sync_link("latest", "a/b"));
  StoreFixture::add(manifest, sync_folder("out"));
  TreeSite site = TreeSite::open({.job = "job1"}, host.store).value();
  CHECK(site.root() == host.store.path() + "/trees/job1");
  BuildProgress last;
  CHECK(site.build(manifest, host.objects, [&](BuildProgress at) { last = at; }));
  ::umask(mask);
  CHECK(last.done == 6);
  CHECK(last.all == 6);
  const std::string tree = "store/trees/job1/";
  CHECK(host.folder.read(tree + "train.py") == "print(1)");
  CHECK(host.folder.read(tree + "odd\n\xff name") == "odd");
  CHECK(mode_of(site.root() + "/train.py") == 0640);
  CHECK(mode_of(site.root() + "/bin/run") == 0750);
  CHECK(fs::file_size(site.root() + "/a/b/c/empty") == 0);
  CHECK(fs::read_symlink(site.root() + "/latest") == "a/b");
  CHECK(fs::is_empty(site.root() + "/out"));
  CHECK(std::distance(fs::directory_iterator(site.root()), {}) == 6);
  CHECK(fs::hard_link_count(site.root() + "/train.py") == 1);
}

TEST_CASE("lacking: each content once, and none that is empty or in the store") {
  StoreFixture host;
  Manifest manifest = host.files({{"there", "1"}, {"empty", ""}});
  StoreFixture::add(manifest, sync_file("x/a", "new"));
  StoreFixture::add(manifest, sync_file("x/b", "new"));
  StoreFixture::add(manifest, sync_link("x/c", "a"));
  TreeSite site = TreeSite::open({.job = "job1"}, host.store).value();
  const std::vector<size_t> numbers = site.lacking(manifest, host.objects).value();
  REQUIRE(numbers.size() == 1);
  CHECK(manifest.entries[numbers[0]].path == "x/a");
  CHECK(site.build(manifest, host.objects, {}).error().code == Errc::not_found);
  CHECK_FALSE(fs::exists(site.root()));
  put_object(host.objects, "new");
  CHECK(site.lacking(manifest, host.objects).value().empty());
  CHECK(site.build(manifest, host.objects, {}));
  CHECK(host.folder.read("store/trees/job1/x/b") == "new");
}

TEST_CASE("a tree to which nothing was written is removed, with its records") {
  StoreFixture host;
  const Manifest manifest = host.files({{"pkg/a.py", "1"}, {"b.py", "2"}});
  TreeSite site = TreeSite::open({.job = "job1"}, host.store).value();
  REQUIRE(site.build(manifest, host.objects, {}));
  CHECK_FALSE(site.written().value());
  host.folder.write("store/trees/job1/pkg/__pycache__/a.cpython-311.pyc", "x");
  host.folder.write("store/trees/job1/__pycache__/b.pyc", "x");
  CHECK_FALSE(site.written().value());
  CHECK(site.close());
  CHECK(fs::is_empty(host.store.path() + "/trees"));
}

TEST_CASE("a tree to which tasks wrote is kept") {
  StoreFixture host;
  Manifest manifest = host.files({{"pkg/a.py", "1"}, {"b.py", "2"}});
  StoreFixture::add(manifest, sync_link("link", "b.py"));
  TreeSite site = TreeSite::open({.job = "job1"}, host.store).value();
  REQUIRE(site.build(manifest, host.objects, {}));
  SUBCASE("a new file") {
    host.folder.write("store/trees/job1/out/model.pt", "weights");
  }
  SUBCASE("a changed file") {
    host.folder.write("store/trees/job1/b.py", "changed");
  }
  SUBCASE("other rights") {
    fs::permissions(site.root() + "/b.py", fs::perms::owner_all);
  }
  SUBCASE("a missing file") {
    fs::remove(site.root() + "/pkg/a.py");
  }
  SUBCASE("another link") {
    fs::remove(site.root() + "/link");
    fs::create_symlink("pkg/a.py", site.root() + "/link");
  }
  CHECK(site.written().value());
  CHECK(site.close());
  CHECK(fs::exists(host.store.path() + "/trees/job1"));
}

TEST_CASE("a target gets the changes of each job, and keeps the files of tasks") {
  StoreFixture host;
  const SiteOrder order = host.order("code");
  REQUIRE(build_at(host, order,
                   host.files({{"a.py", "1"}, {"b.py", "2"}, {"old/x.py", "3"}, {"sub/y", "4"}})));
  host.write("code/out/model.pt", "weights");
  host.write("code/sub/notes", "mine");
  host.write("code/a.py", "edited by a task");
  REQUIRE(build_at(host, host.order("code", "job2"),
                   host.files({{"a.py", "1"}, {"b.py", "two"}, {"new/z.py", "5"}})));
  CHECK(host.read("code/a.py") == "1");
  CHECK(host.read("code/b.py") == "two");
  CHECK(host.read("code/new/z.py") == "5");
  CHECK(host.read("code/out/model.pt") == "weights");
  CHECK(host.read("code/sub/notes") == "mine");
  CHECK_FALSE(fs::exists(host.home("code/old")));
  CHECK_FALSE(fs::exists(host.home("code/sub/y")));
  CHECK_FALSE(fs::exists(host.home("code/.dtrain/staging")));
}

TEST_CASE("a file that the last tree had, and that a task has changed, stays") {
  StoreFixture host;
  REQUIRE(build_at(host, host.order("code"), host.files({{"a.py", "1"}, {"config", "2"}})));
  host.write("code/config", "changed by a task");
  REQUIRE(build_at(host, host.order("code"), host.files({{"a.py", "1"}})));
  CHECK(host.read("code/config") == "changed by a task");
}

TEST_CASE("in a target, files that are in place need no object") {
  StoreFixture host;
  const Manifest manifest = host.files({{"a", "1"}, {"d/b", "2"}});
  REQUIRE(build_at(host, host.order("code"), manifest));
  host.objects.finish(WallClock::now(), 0);
  REQUIRE_FALSE(host.objects.has(manifest.entries[0]));
  TreeSite site = TreeSite::open(host.order("code", "job2"), host.store).value();
  CHECK(site.lacking(manifest, host.objects).value().empty());
  CHECK(site.build(manifest, host.objects, {}));
  SUBCASE("but one that a task has changed does") {
    host.write("code/a", "changed");
    CHECK(site.lacking(manifest, host.objects).value() == std::vector<size_t>{0});
  }
  SUBCASE("nor does one whose times have changed only") {
    host.write("code/a", "1");
    CHECK(site.lacking(manifest, host.objects).value().empty());
    CHECK(site.build(manifest, host.objects, {}));
  }
}

void receive_all(TreeSite& site, const StoreFixture& host, const Manifest& manifest,
                 std::string_view content) {
  const std::vector<size_t> numbers = site.lacking(manifest, host.objects).value();
  for (const size_t number : numbers) {
    ContentWriter writer = site.receive(manifest, number, host.objects).value();
    REQUIRE(writer.write(as_bytes(content)));
    REQUIRE(writer.commit());
    site.received(manifest, number);
  }
}

TEST_CASE("what a target lacks goes there without an object, once for equal files") {
  StoreFixture host;
  Manifest manifest = host.files({{"object", "of the store"}});
  StoreFixture::add(manifest, sync_file("a", "content"));
  StoreFixture::add(manifest, sync_file("b/run", "content", true));
  TreeSite site = TreeSite::open(host.order("code"), host.store).value();
  CHECK(site.lacking(manifest, host.objects).value() == std::vector<size_t>{0});
  receive_all(site, host, manifest, "content");
  CHECK(site.lacking(manifest, host.objects).value().empty());
  CHECK(site.build(manifest, host.objects, {}));
  CHECK(host.read("code/a") == "content");
  CHECK(host.read("code/b/run") == "content");
  CHECK((mode_of(host.home("code/a")) & 0100) == 0);
  CHECK((mode_of(host.home("code/b/run")) & 0100) != 0);
  CHECK(host.read("code/object") == "of the store");
  CHECK_FALSE(host.objects.has(sync_file("a", "content")));
  CHECK_FALSE(fs::exists(host.home("code/.dtrain/staging")));
  // A file that moves in the tree is not sent again.
  Manifest moved = host.files({{"object", "of the store"}});
  StoreFixture::add(moved, sync_file("c/d", "content"));
  CHECK(site.lacking(moved, host.objects).value().empty());
  CHECK(site.build(moved, host.objects, {}));
  CHECK(host.read("code/c/d") == "content");
  CHECK_FALSE(fs::exists(host.home("code/b")));
}

TEST_CASE("what has arrived for a target stays while an object is sent again, and after a cut") {
  StoreFixture host;
  Manifest manifest = host.files({{"b", "of the store"}, {"c", "in the store, too"}});
  StoreFixture::add(manifest, sync_file("a", "content"));
  StoreFixture::add(manifest, sync_link("l", "a"));
  {
    TreeSite site = TreeSite::open(host.order("code"), host.store).value();
    receive_all(site, host, manifest, "content");
    fs::remove(host.objects.path() + "/" + object_name(manifest.entries[2].digest));
    CHECK(site.build(manifest, host.objects, {}).error().code == Errc::not_found);
    CHECK(site.lacking(manifest, host.objects).value() == std::vector<size_t>{2});
  }
  TreeSite site = TreeSite::open(host.order("code"), host.store).value();
  int read = 0;
  CHECK(site.lacking(manifest, host.objects, [&] { ++read; }).value() == std::vector<size_t>{2});
  CHECK(read >= 3);
  receive_all(site, host, manifest, "in the store, too");
  CHECK(site.build(manifest, host.objects, {}));
  CHECK(host.read("code/a") == "content");
  CHECK(host.read("code/b") == "of the store");
  CHECK(host.read("code/c") == "in the store, too");
  // Nor does anything stay of a transfer for a tree that is there.
  host.write("code/.dtrain/staging/0", "content");
  CHECK(site.lacking(manifest, host.objects).value().empty());
  CHECK_FALSE(fs::exists(host.home("code/.dtrain/staging")));
}

TEST_CASE("what has arrived for a target can be dropped, and is sent again") {
  StoreFixture host;
  Manifest manifest;
  StoreFixture::add(manifest, sync_file("a", "content"));
  TreeSite site = TreeSite::open(host.order("code"), host.store).value();
  receive_all(site, host, manifest, "content");
  site.drop_received();
  CHECK_FALSE(fs::exists(host.home("code/.dtrain/staging")));
  CHECK(site.lacking(manifest, host.objects).value() == std::vector<size_t>{0});
  receive_all(site, host, manifest, "content");
  CHECK(site.build(manifest, host.objects, {}));
  CHECK(host.read("code/a") == "content");
}

TEST_CASE("a path that was a file becomes a folder, a link or nothing, and back") {
  StoreFixture host;
  Manifest file = host.files({{"p", "file"}, {"q", "keep"}});
  Manifest folder = host.files({{"p/x/y", "below"}, {"q", "keep"}});
  Manifest link = host.files({{"q", "keep"}});
  StoreFixture::add(link, sync_link("p", "q"));
  Manifest empty = host.files({{"q", "keep"}});
  StoreFixture::add(empty, sync_folder("p"));
  const Manifest without = host.files({{"q", "keep"}});
  const std::vector<const Manifest*> kinds = {&file, &folder, &link, &empty, &without};
  for (const Manifest* from : kinds) {
    for (const Manifest* to : kinds) {
      REQUIRE(build_at(host, host.order("code"), *from));
      const Result<> built = build_at(host, host.order("code"), *to);
      REQUIRE_MESSAGE(built, (built ? "" : built.error().message));
      TreeSite site = TreeSite::open(host.order("code"), host.store).value();
      CHECK(site.written().value() == false);
      if (to == &file) CHECK(host.read("code/p") == "file");
      if (to == &folder) CHECK(host.read("code/p/x/y") == "below");
      if (to == &link) CHECK(fs::read_symlink(host.home("code/p")) == "q");
      if (to == &empty) CHECK(fs::is_empty(host.home("code/p")));
      if (to == &without) CHECK_FALSE(StoreFixture::exists(host.home("code/p")));
    }
  }
}

TEST_CASE("files of tasks that block an entry are named, and nothing changes") {
  StoreFixture host;
  REQUIRE(build_at(host, host.order("code"), host.files({{"a", "1"}, {"d/b", "2"}})));
  Manifest manifest;
  std::string expected;
  SUBCASE("a file in the place of a folder") {
    host.write("code/out", "of a task");
    manifest = host.files({{"a", "new"}, {"out/x", "3"}});
    expected = "cannot put out there: out is in its place";
  }
  SUBCASE("a folder with a file in the place of a file") {
    host.write("code/d/deep/mine", "of a task");
    manifest = host.files({{"a", "new"}, {"d", "3"}});
    expected = "cannot put d there: d/deep/mine is in its place";
  }
  TreeSite site = TreeSite::open(host.order("code"), host.store).value();
  const Error error = site.lacking(manifest, host.objects).error();
  CHECK(error.code == Errc::input);
  CHECK(error.message.starts_with(expected));
  CHECK(site.build(manifest, host.objects, {}).error() == error);
  CHECK(host.read("code/a") == "1");
  CHECK(host.read("code/d/b") == "2");
}

TEST_CASE(
    "a folder with nothing but Python's cache makes room for a file, and goes if it is left") {
  StoreFixture host;
  REQUIRE(build_at(host, host.order("code"), host.files({{"a/m.py", "1"}, {"b/m.py", "2"}})));
  host.write("code/a/__pycache__/m.cpython-311.pyc", "x");
  host.write("code/b/__pycache__/m.cpython-311.pyc", "x");
  REQUIRE(build_at(host, host.order("code"), host.files({{"a", "file"}})));
  CHECK(host.read("code/a") == "file");
  CHECK_FALSE(fs::exists(host.home("code/b")));
}

TEST_CASE("an empty folder that lost its last file stays, if the tree has it") {
  StoreFixture host;
  REQUIRE(build_at(host, host.order("code"), host.files({{"e/x", "1"}})));
  Manifest manifest;
  StoreFixture::add(manifest, sync_folder("e"));
  REQUIRE(build_at(host, host.order("code"), manifest));
  CHECK(fs::is_directory(host.home("code/e")));
  CHECK_FALSE(fs::exists(host.home("code/e/x")));
}

TEST_CASE("folders above an empty folder that has gone go, too, if they are empty") {
  StoreFixture host;
  Manifest manifest;
  StoreFixture::add(manifest, sync_folder("a/b/empty"));
  StoreFixture::add(manifest, sync_folder("c/empty"));
  REQUIRE(build_at(host, host.order("code"), manifest));
  host.write("code/c/notes", "of a task");
  Manifest kept;
  StoreFixture::add(kept, sync_folder("a"));
  REQUIRE(build_at(host, host.order("code"), kept));
  CHECK(fs::is_empty(host.home("code/a")));
  CHECK_FALSE(fs::exists(host.home("code/c/empty")));
  CHECK(host.read("code/c/notes") == "of a task");
}

TEST_CASE("a folder whose rights a task has taken away is an error before anything changes" *
          doctest::skip(::geteuid() == 0)) {
  StoreFixture host;
  REQUIRE(build_at(host, host.order("code"), host.files({{"a", "1"}, {"d/x", "2"}})));
  fs::permissions(host.home("code/d"), fs::perms::none);
  const Error error =
      build_at(host, host.order("code"), host.files({{"a", "new"}, {"d/x", "2"}})).error();
  fs::permissions(host.home("code/d"), fs::perms::owner_all);
  CHECK(error.message == "cannot examine d/x there: Permission denied");
  CHECK(host.read("code/a") == "1");
}

TEST_CASE("a link in the place of a folder is never followed") {
  StoreFixture host;
  host.folder.write("outside/victim", "safe");
  host.folder.write("outside/x", "safe");
  const std::string outside = host.folder.path() + "/outside";
  REQUIRE(build_at(host, host.order("code"), host.files({{"d/x", "1"}, {"d/victim", "2"}})));
  // A task replaces a folder of the tree by a link to another place.
  fs::remove_all(host.home("code/d"));
  fs::create_directory_symlink(outside, host.home("code/d"));
  SUBCASE("the next tree has files there") {
    REQUIRE(build_at(host, host.order("code"), host.files({{"d/x", "new"}})));
    CHECK(fs::is_directory(fs::symlink_status(host.home("code/d"))));
    CHECK(host.read("code/d/x") == "new");
  }
  SUBCASE("the next tree has none there") {
    REQUIRE(build_at(host, host.order("code"), host.files({{"a", "new"}})));
    CHECK(fs::is_symlink(host.home("code/d")));
  }
  SUBCASE("the next tree has an empty folder there") {
    Manifest manifest;
    StoreFixture::add(manifest, sync_folder("d"));
    REQUIRE(build_at(host, host.order("code"), manifest));
    CHECK(fs::is_empty(host.home("code/d")));
  }
  CHECK(host.folder.read("outside/victim") == "safe");
  CHECK(host.folder.read("outside/x") == "safe");
}

TEST_CASE("a hostile manifest leaves the tree by no path") {
  StoreFixture host;
  host.write("outside", "safe");
  for (const char* path : {"../outside", "/outside", "a/../../outside", "a//b", "", "./a", "a/",
                           ".dtrain/index", ".dtrain"}) {
    CAPTURE(path);
    for (const char* target : {"", "code"}) {
      const Manifest manifest = host.files({{path, "evil"}});
      TreeSite site = TreeSite::open(host.order(target), host.store).value();
      CHECK(site.build(manifest, host.objects, {}).error().code == Errc::input);
      CHECK(site.close());
    }
  }
  // Through a link that the same manifest has.
  Manifest manifest = host.files({{"l/outside", "evil"}});
  StoreFixture::add(manifest, sync_link("l", host.folder.path() + "/home"));
  CHECK_FALSE(build_at(host, host.order("code"), manifest));
  CHECK_FALSE(build_at(host, host.order(""), manifest));
  Manifest unordered = host.files({{"a", "1"}, {"b", "2"}});
  std::swap(unordered.entries[0], unordered.entries[1]);
  CHECK_FALSE(build_at(host, host.order("code"), unordered));
  CHECK(host.read("outside") == "safe");
}

TEST_CASE("a second job is refused by the name of the job that has the target") {
  StoreFixture host;
  const Manifest manifest = host.files({{"a", "1"}});
  TreeSite site = TreeSite::open(host.order("code"), host.store).value();
  const Error error = TreeSite::open(host.order("code", "job2"), host.store).error();
  CHECK(error.code == Errc::refused);
  CHECK(error.message.starts_with(host.home("code") + " is in use by job job1 on "));
  CHECK(site.build(manifest, host.objects, {}));
  CHECK(site.close());
  CHECK(TreeSite::open(host.order("code", "job2"), host.store));
}

TEST_CASE("adopt: the tree that another host has made in a shared folder") {
  StoreFixture host;
  const Manifest manifest = host.files({{"a", "1"}, {"d/b", "2"}});
  for (const char* target : {"", "code"}) {
    const SiteOrder order = host.order(target);
    CHECK(TreeSite::adopt(order, host.store, manifest).error().code == Errc::mismatch);
    TreeSite site = TreeSite::open(order, host.store).value();
    REQUIRE(site.build(manifest, host.objects, {}));
    CHECK(TreeSite::adopt(order, host.store, manifest).value() == site.root());
    const Manifest other = host.files({{"a", "1"}});
    CHECK(TreeSite::adopt(order, host.store, other).error().code == Errc::mismatch);
    fs::remove(site.root() + "/d/b");
    CHECK(TreeSite::adopt(order, host.store, manifest).error().code == Errc::mismatch);
  }
}

TEST_CASE("a job builds its own tree again") {
  StoreFixture host;
  const Manifest manifest = host.files({{"a", "1"}, {"d/b", "2"}});
  TreeSite site = TreeSite::open({.job = "job1"}, host.store).value();
  REQUIRE(site.build(manifest, host.objects, {}));
  host.folder.write("store/trees/job1/a", "changed by a task");
  host.folder.write("store/trees/job1/out", "of a task");
  CHECK(site.lacking(manifest, host.objects).value().empty());
  CHECK(site.build(manifest, host.objects, {}));
  CHECK(host.folder.read("store/trees/job1/a") == "1");
  CHECK(host.folder.read("store/trees/job1/out") == "of a task");
  CHECK(site.close());
  CHECK(fs::exists(host.store.path() + "/trees/job1/out"));
}

}  // namespace
}  // namespace dt
