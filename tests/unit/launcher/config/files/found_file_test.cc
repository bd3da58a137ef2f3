#include "launcher/config/files/found_file.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace dt {
namespace {

using State = FoundFile::State;

constexpr size_t bytes_max = 100;
constexpr uid_t stranger = 65534;

FoundFile found(const TemporaryFolder& folder, const char* name) {
  return read_found_file(folder.path() + "/" + name, bytes_max).value();
}

TEST_CASE("a found file of this user is read, also through a link of this user") {
  const TemporaryFolder folder;
  folder.write("plain", "np = 1\n", 0644);
  std::filesystem::create_symlink("plain", folder.path() + "/link");
  for (const char* name : {"plain", "link"}) {
    CAPTURE(name);
    const FoundFile file = found(folder, name);
    CHECK(file.state == State::read);
    CHECK(file.text == "np = 1\n");
    CHECK(file.why.empty());
  }
}

TEST_CASE("a found file that is missing is absent") {
  const TemporaryFolder folder;
  folder.write("plain", "");
  std::filesystem::create_symlink("gone", folder.path() + "/dangling");
  CHECK(found(folder, "gone").state == State::absent);
  CHECK(found(folder, "plain/below").state == State::absent);
  CHECK(found(folder, "dangling").state == State::absent);
}

TEST_CASE("a found file that other users may write is distrusted") {
  const TemporaryFolder folder;
  folder.write("open", "np = 1\n", 0646);
  const FoundFile file = found(folder, "open");
  CHECK(file.state == State::distrusted);
  CHECK(file.why == "other users may write it (mode 0646; try: chmod go-w)");
  CHECK(file.text.empty());
}

TEST_CASE("a found file that a group may write is trusted only if the group is the owner's own") {
  const TemporaryFolder folder;
  folder.write("group", "np = 1\n", 0664);
  const std::string path = folder.path() + "/group";
  if (geteuid() != 0) return;  // only root gives files away
  CHECK(found(folder, "group").state == State::distrusted);
  constexpr uid_t user = 1234;
  chmod(folder.path().c_str(), 0755);
  for (const gid_t group : {gid_t{user}, gid_t{user + 1}}) {
    REQUIRE(chown(path.c_str(), user, group) == 0);
    REQUIRE(seteuid(user) == 0);
    const State state = found(folder, "group").state;
    REQUIRE(seteuid(0) == 0);
    CHECK(state == (group == user ? State::read : State::distrusted));
  }
}

TEST_CASE("a found file of another user is distrusted, and so is a link of one") {
  if (geteuid() != 0) return;  // only root gives files away
  const TemporaryFolder folder;
  folder.write("plain", "np = 1\n");
  folder.write("theirs", "np = 2\n");
  const std::string link = folder.path() + "/link";
  std::filesystem::create_symlink("plain", link);
  REQUIRE(chown((folder.path() + "/theirs").c_str(), stranger, stranger) == 0);
  REQUIRE(lchown(link.c_str(), stranger, stranger) == 0);
  CHECK(found(folder, "theirs").state == State::distrusted);
  CHECK(found(folder, "theirs").why == "it belongs to the user 65534, not to you or root");
  CHECK(found(folder, "link").state == State::distrusted);
  CHECK(found(folder, "link").why == "it is a link of the user 65534, not of you or root");
}

TEST_CASE("a file that is not regular is distrusted, without waiting for a FIFO") {
  const TemporaryFolder folder;
  const std::string fifo = folder.path() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  std::filesystem::create_directory(folder.path() + "/folder");
  for (const char* name : {"fifo", "folder"}) {
    CAPTURE(name);
    CHECK(found(folder, name).state == State::distrusted);
    CHECK(found(folder, name).why == "it is not a regular file");
  }
}

TEST_CASE("a found file that may not be read is unreadable") {
  const TemporaryFolder folder;
  folder.write("closed", "np = 1\n", 0000);
  chmod(folder.path().c_str(), 0755);
  const bool root = geteuid() == 0;
  if (root) REQUIRE(seteuid(stranger) == 0);
  const FoundFile file = found(folder, "closed");
  if (root) REQUIRE(seteuid(0) == 0);
  CHECK(file.state == State::unreadable);
  CHECK(file.why == "Permission denied");
}

TEST_CASE("a found file that is too large is an error") {
  const TemporaryFolder folder;
  folder.write("large", std::string(bytes_max + 1, '#'));
  CHECK_FALSE(read_found_file(folder.path() + "/large", bytes_max).has_value());
}

}  // namespace
}  // namespace dt
