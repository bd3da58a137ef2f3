#include "launcher/sync/source/digest_memory.h"

#include "base/format.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace dt {
namespace {

namespace fs = std::filesystem;

const Digest some_digest = sha256(as_bytes("x"));

FileFacts facts_at(int64_t second) {
  constexpr int64_t billion = 1'000'000'000;
  return {.inode = 7, .size = 1, .mtime_ns = second * billion, .ctime_ns = second * billion};
}

WallClock::time_point at_second(int64_t second) {
  return WallClock::time_point(seconds(second));
}

std::string only_file(const std::string& folder) {
  const fs::directory_iterator files(folder);
  return files->path().string();
}

TEST_CASE("digests are found again by the same path and facts of the same tree alone") {
  const TemporaryFolder folder;
  const std::string cache = folder.path() + "/digests";
  DigestMemory memory = DigestMemory::load(cache, "/root");
  memory.keep("b\n\xff", facts_at(100), some_digest, at_second(200));
  memory.keep("a", facts_at(100), some_digest, at_second(200));
  CHECK_FALSE(memory.find("a", facts_at(100)));
  REQUIRE(memory.save());
  CHECK(memory.find("a", facts_at(100)) == some_digest);
  const DigestMemory again = DigestMemory::load(cache, "/root");
  CHECK(again.find("b\n\xff", facts_at(100)) == some_digest);
  CHECK_FALSE(again.find("b", facts_at(100)));
  for (int i = 0; i < 4; ++i) {
    FileFacts other = facts_at(100);
    other.inode += i == 0 ? 1 : 0;
    other.size += i == 1 ? 1 : 0;
    other.mtime_ns += i == 2 ? 1 : 0;
    other.ctime_ns += i == 3 ? 1 : 0;
    CHECK_FALSE(again.find("a", other));
  }
  CHECK_FALSE(DigestMemory::load(cache, "/other").find("a", facts_at(100)));
}

TEST_CASE("the digest of a file that changed within two seconds of being hashed is not kept") {
  const TemporaryFolder folder;
  DigestMemory memory = DigestMemory::load(folder.path(), "/root");
  memory.keep("settled", facts_at(100), some_digest, at_second(103));
  memory.keep("fresh", facts_at(100), some_digest, at_second(101));
  memory.keep("future", facts_at(100), some_digest, at_second(50));
  FileFacts renamed = facts_at(100);
  renamed.ctime_ns = facts_at(102).ctime_ns;
  memory.keep("renamed", renamed, some_digest, at_second(103));
  REQUIRE(memory.save());
  CHECK(memory.find("settled", facts_at(100)));
  CHECK_FALSE(memory.find("fresh", facts_at(100)));
  CHECK_FALSE(memory.find("future", facts_at(100)));
  CHECK_FALSE(memory.find("renamed", renamed));
}

TEST_CASE("a memory forgets files that were not kept again, and is not written when it is equal") {
  const TemporaryFolder folder;
  DigestMemory memory = DigestMemory::load(folder.path(), "/root");
  memory.keep_known("a", facts_at(1), some_digest);
  memory.keep_known("b", facts_at(1), some_digest);
  REQUIRE(memory.save());
  const auto inode = [&] {
    struct stat status = {};
    CHECK(::stat(only_file(folder.path()).c_str(), &status) == 0);
    return status.st_ino;
  };
  const auto before = inode();
  memory.keep_known("b", facts_at(1), some_digest);
  memory.keep_known("a", facts_at(1), some_digest);
  REQUIRE(memory.save());
  CHECK(inode() == before);
  memory.keep_known("b", facts_at(1), some_digest);
  REQUIRE(memory.save());
  const DigestMemory again = DigestMemory::load(folder.path(), "/root");
  CHECK_FALSE(again.find("a", facts_at(1)));
  CHECK(again.find("b", facts_at(1)));
}

TEST_CASE("a memory that is torn or changed anywhere is empty") {
  const TemporaryFolder folder;
  DigestMemory memory = DigestMemory::load(folder.path(), "/root");
  memory.keep_known("a", facts_at(1), some_digest);
  REQUIRE(memory.save());
  const std::string name = fs::path(only_file(folder.path())).filename().string();
  const std::string whole = folder.read(name);
  for (size_t i = 0; i < whole.size(); ++i) {
    folder.write(name, whole.substr(0, i));
    CHECK_FALSE(DigestMemory::load(folder.path(), "/root").find("a", facts_at(1)));
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    folder.write(name, changed);
    CHECK_FALSE(DigestMemory::load(folder.path(), "/root").find("a", facts_at(1)));
  }
  folder.write(name, whole);
  CHECK(DigestMemory::load(folder.path(), "/root").find("a", facts_at(1)));
}

TEST_CASE("the memories of the trees that were used longest ago are removed") {
  const TemporaryFolder folder;
  for (size_t i = 0; i <= DigestMemory::trees_max; ++i) {
    DigestMemory memory = DigestMemory::load(folder.path(), format("/root{}", i));
    memory.keep_known("a", facts_at(1), some_digest);
    REQUIRE(memory.save());
    if (i == 0)
      fs::last_write_time(only_file(folder.path()),
                          fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) ==
        static_cast<std::ptrdiff_t>(DigestMemory::trees_max));
  CHECK_FALSE(DigestMemory::load(folder.path(), "/root0").find("a", facts_at(1)));
  CHECK(DigestMemory::load(folder.path(), "/root1").find("a", facts_at(1)));
}

}  // namespace
}  // namespace dt
