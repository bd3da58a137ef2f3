#include "launcher/sync/store/object_store.h"

#include "base/format.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace dt {
namespace {

std::string path_of(const StoreFixture& host, std::string_view content) {
  return format("{}/{}", host.objects.path(), object_name(sha256(as_bytes(content))));
}

size_t files_in(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != "lock") ++count;
  }
  return count;
}

void set_age(const std::string& path, std::chrono::hours age) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
}

TEST_CASE("object_name: the SHA-256 in hex") {
  CHECK(object_name(sha256(as_bytes("abc"))) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("an object is there after its last byte, and can be read") {
  StoreFixture host;
  const TreeEntry entry = sync_file("train.py", "print(1)");
  CHECK_FALSE(host.objects.has(entry));
  ContentWriter writer = host.objects.create(entry).value();
  CHECK(writer.write(as_bytes("print")));
  CHECK(writer.write(as_bytes("(1)")));
  CHECK_FALSE(host.objects.has(entry));
  CHECK(writer.commit());
  CHECK(host.objects.has(entry));
  const Fd file = host.objects.open_object(entry).value();
  std::array<std::byte, 8> bytes;
  CHECK(read_all_at(file.get(), 0, bytes));
  CHECK(as_text(bytes) == "print(1)");
  struct stat status = {};
  REQUIRE(::stat(host.objects.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("two writers of one object do not disturb each other") {
  StoreFixture host;
  const std::string content(300'000, 'x');
  const TreeEntry entry = sync_file("a", content);
  const auto write = [&] {
    for (int i = 0; i < 50; ++i) {
      ContentWriter writer = *host.objects.create(entry);
      static_cast<void>(writer.write(as_bytes(content).first(100'000)));
      static_cast<void>(writer.write(as_bytes(content).subspan(100'000)));
      static_cast<void>(writer.commit());
    }
  };
  std::thread other(write);
  write();
  other.join();
  CHECK(host.objects.has(entry));
  CHECK(files_in(host.objects.path()) == 1);
}

TEST_CASE("a cut object counts as lacking, and is removed") {
  StoreFixture host;
  put_object(host.objects, "content");
  REQUIRE(::truncate(path_of(host, "content").c_str(), 3) == 0);
  CHECK_FALSE(host.objects.has(sync_file("a", "content")));
  CHECK_FALSE(StoreFixture::exists(path_of(host, "content")));
}

TEST_CASE("an object of before the start of the machine is read once") {
  StoreFixture host;
  put_object(host.objects, "content");
  const TreeEntry entry = sync_file("a", "content");
  constexpr int64_t later_ns = int64_t{4'000'000'000} * 1'000'000'000;
  const ObjectStore after_start = ObjectStore::open(host.store, later_ns).value();
  CHECK(after_start.has(entry));
  // A power loss leaves zeros in the place of bytes that were not on the disk yet.
  host.folder.write("store/objects/" + object_name(entry.digest), std::string(7, '\0'));
  CHECK_FALSE(after_start.has(entry));
  CHECK_FALSE(StoreFixture::exists(path_of(host, "content")));
}

TEST_CASE("open_object: gone") {
  StoreFixture host;
  CHECK(host.objects.open_object(sync_file("a", "content")).error().code == Errc::not_found);
}

TEST_CASE("finish: the objects that were not used for longest are removed above the limit") {
  StoreFixture host;
  for (const char* content : {"first.", "second", "third."})
    put_object(host.objects, content);
  set_age(path_of(host, "first."), std::chrono::hours(50));
  set_age(path_of(host, "second"), std::chrono::hours(60));
  // Its use makes this the last that is removed.
  CHECK(host.objects.has(sync_file("a", "first.")));
  SUBCASE("below the limit") {
    host.objects.finish(WallClock::now(), 18);
    CHECK(files_in(host.objects.path()) == 3);
  }
  SUBCASE("above it") {
    host.objects.finish(WallClock::now(), 12);
    CHECK(StoreFixture::exists(path_of(host, "first.")));
    CHECK_FALSE(StoreFixture::exists(path_of(host, "second")));
    CHECK(StoreFixture::exists(path_of(host, "third.")));
  }
  SUBCASE("beside another job, those of the last day stay") {
    const ObjectStore other = ObjectStore::open(host.store).value();
    host.objects.finish(WallClock::now(), 0);
    CHECK(files_in(host.objects.path()) == 2);
    CHECK_FALSE(StoreFixture::exists(path_of(host, "second")));
  }
  SUBCASE("alone, all may go") {
    host.objects.finish(WallClock::now(), 0);
    CHECK(files_in(host.objects.path()) == 0);
  }
}

TEST_CASE("finish: leftovers of killed jobs go after a day") {
  StoreFixture host;
  const std::string draft = host.objects.path() + "/new.0011";
  host.folder.write("store/objects/new.0011", "x");
  const WallClock::time_point now = WallClock::now();
  host.objects.finish(now);
  CHECK(StoreFixture::exists(draft));
  ObjectStore::open(host.store).value().finish(now + std::chrono::hours(25));
  CHECK_FALSE(StoreFixture::exists(draft));
}

TEST_CASE("unfinished_objects: what killed jobs have begun to receive, when no job runs") {
  const TemporaryFolder folder;
  const StoreFolder store = StoreFolder::find({folder.path() + "/store"}).value();
  {
    const ObjectStore running = ObjectStore::open(store).value();
    folder.write("store/objects/new.killed", "12345");
    CHECK(unfinished_objects(store.path(), LeftoverWork::remove).count == 0);
  }
  const Leftovers left = {.count = 1, .bytes = 5};
  CHECK(unfinished_objects(store.path(), LeftoverWork::count) == left);
  CHECK(unfinished_objects(store.path(), LeftoverWork::remove) == left);
  CHECK_FALSE(std::filesystem::exists(store.path() + "/objects/new.killed"));
}

TEST_CASE("clear_objects: all go, unless a job uses them") {
  StoreFixture host;
  put_object(host.objects, "content");
  CHECK(list_objects(host.store.path()).count == 1);
  CHECK(list_objects(host.store.path()).bytes == 7);
  CHECK(list_objects(host.store.path()).in_use);
  CHECK(clear_objects(host.store.path()).value().in_use);
  CHECK(host.objects.has(sync_file("a", "content")));
  host.objects.finish(WallClock::now());
  const StoredObjects cleared = clear_objects(host.store.path()).value();
  CHECK(cleared.count == 1);
  CHECK(cleared.bytes == 7);
  CHECK_FALSE(StoreFixture::exists(host.objects.path()));
  CHECK(ObjectStore::open(host.store));
  CHECK(list_objects(host.folder.path() + "/none").count == 0);
}

}  // namespace
}  // namespace dt
