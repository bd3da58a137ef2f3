#include "base/io/atomic_file.h"

#include "base/io/file.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace dt {
namespace {

/// Returns "" when there is no file.
std::string content_of(const std::string& path) {
  return read_text_file(path, 1000).value_or("");
}

size_t files_in(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

/// Limits the size of files that this process writes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit wanted = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &wanted) == 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

TEST_CASE("a file has its old content until the commit, and no other file stays") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  for (const std::string text : {"first", "second", "unsynced"}) {
    const std::string before = content_of(path);
    AtomicFile file = AtomicFile::create(path).value();
    CHECK(file.path() == path);
    REQUIRE(file.write(as_bytes(text.substr(0, 2))));
    REQUIRE(file.write(as_bytes(text.substr(2))));
    CHECK(content_of(path) == before);
    REQUIRE((text == "unsynced" ? file.commit_without_sync() : file.commit()));
    CHECK(content_of(path) == text);
  }
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a file that is not committed leaves nothing, also after a move") {
  const TemporaryFolder folder;
  {
    AtomicFile file = AtomicFile::create(folder.path() + "/saved").value();
    REQUIRE(file.write(as_bytes("text")));
    const AtomicFile moved = std::move(file);
    CHECK(files_in(folder) == 1);
  }
  CHECK(files_in(folder) == 0);
}

TEST_CASE("a failed write or rename leaves the old content") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  {
    AtomicFile file = AtomicFile::create(path).value();
    REQUIRE(file.write(as_bytes("old")));
    REQUIRE(file.commit());
  }
  {
    const AtomicFile file = AtomicFile::create(path).value();
    const FileSizeLimit limit(4);
    CHECK(file.write(as_bytes("too long")).error().message == "write: File too large");
  }
  CHECK(content_of(path) == "old");
  CHECK(files_in(folder) == 1);
  AtomicFile file = AtomicFile::create(path).value();
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/full");
  CHECK(file.commit().error().message == "Is a directory");
}

TEST_CASE("a file in a folder that does not exist is refused") {
  CHECK(AtomicFile::create("/none/saved").error() == Error{Errc::os, "No such file or directory"});
}

TEST_CASE("the unfinished file of a process that died is removed, and not that of one that lives") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  std::ofstream(path + ".unfinished-01234567") << "x";
  AtomicFile first = AtomicFile::create(path).value();
  AtomicFile second = AtomicFile::create(path).value();
  const std::filesystem::directory_iterator files(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 2);
  CHECK(first.commit());
  CHECK(second.commit());
}

}  // namespace
}  // namespace dt
