#include "launcher/agent/error_folder.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dt {
namespace {

namespace fs = std::filesystem;

TEST_CASE("an ErrorFolder is private, is found by its process's pid, and is removed by its owner") {
  const std::string path = ErrorFolder::path_of(getpid());
  REQUIRE_FALSE(path.empty());
  CHECK(ErrorFolder::path_of(getppid()) != path);
  {
    const auto folder = ErrorFolder::make();
    REQUIRE(folder);
    CHECK(folder->path() == path);
    struct stat status = {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
    CHECK_MESSAGE(ErrorFolder::make() == nullptr, "one more in the place of the first");
    std::ofstream(folder->file_of(0)) << "left";
  }
  CHECK_FALSE(fs::exists(path));
  ErrorFolder::remove(path);
  ErrorFolder::remove("");
}

TEST_CASE("ErrorFolder: the folder of a killed agent is removed, that of a running one is not") {
  const auto own = ErrorFolder::make();
  REQUIRE(own);
  const std::string left = format("{}-left", own->path());
  REQUIRE(fs::create_directory(left));
  std::ofstream(left + "/0.json") << "{}";
  const std::string strange = fs::path(own->path()).parent_path() / "dtrain-strange";
  fs::create_directory(strange);
  ErrorFolder::remove_leftovers();
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(own->path()));
  CHECK(fs::remove(strange));
}

TEST_CASE("an ErrorFolder reads the file of a task, and nothing that is no regular file") {
  const auto folder = ErrorFolder::make();
  REQUIRE(folder);
  const auto write = [&](uint32_t task, const std::string& text) {
    std::ofstream(folder->file_of(task)) << text;
  };
  write(1, R"({"message": "E: x", "timestamp": 5})");
  REQUIRE(folder->read(1));
  CHECK(folder->read(1)->message == "E: x");
  CHECK_FALSE(folder->read(2));

  write(3, R"({"message": "E: x", "filler": ")" + std::string(70'000, 'x') + "\"}");
  CHECK_FALSE(folder->read(3));
  write(4, "");
  CHECK_FALSE(folder->read(4));
  REQUIRE(::mkfifo(folder->file_of(5).c_str(), 0600) == 0);
  CHECK_FALSE(folder->read(5));
  fs::create_symlink(folder->file_of(1), folder->file_of(6));
  CHECK_FALSE(folder->read(6));
  fs::create_directory(folder->file_of(7));
  CHECK_FALSE(folder->read(7));
}

}  // namespace
}  // namespace dt
