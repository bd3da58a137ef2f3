#include "launcher/sync/store/content_writer.h"

#include "base/format.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace dt {
namespace {

ContentWriter writer_in(const TemporaryFolder& folder, const TreeEntry& entry) {
  return ContentWriter::create(
             entry, {.folder = folder.path(), .draft = "draft", .whole = "whole", .mode = 0640})
      .value();
}

TEST_CASE("a content gets its name when it is whole") {
  const TemporaryFolder folder;
  ContentWriter writer = writer_in(folder, sync_file("train.py", "print(1)"));
  CHECK(writer.write(as_bytes("print")));
  CHECK(writer.write(as_bytes("(1)")));
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/whole"));
  CHECK(writer.commit());
  CHECK(folder.read("whole") == "print(1)");
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/draft"));
  struct stat status = {};
  REQUIRE(::stat((folder.path() + "/whole").c_str(), &status) == 0);
  CHECK((status.st_mode & 0700) == 0600);
}

TEST_CASE("a content that does not fit its entry is refused and leaves nothing") {
  const TemporaryFolder folder;
  const TreeEntry entry = sync_file("a", "1234");
  SUBCASE("too long") {
    ContentWriter writer = writer_in(folder, entry);
    CHECK(writer.write(as_bytes("12345")).error().code == Errc::protocol);
  }
  SUBCASE("too short") {
    ContentWriter writer = writer_in(folder, entry);
    CHECK(writer.write(as_bytes("123")));
    CHECK(writer.commit().error().code == Errc::protocol);
  }
  SUBCASE("another content") {
    ContentWriter writer = writer_in(folder, entry);
    CHECK(writer.write(as_bytes("1235")));
    CHECK(writer.commit().error().code == Errc::protocol);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a content is written to no file that is there, and through no link") {
  const TemporaryFolder folder;
  folder.write("victim", "safe");
  std::filesystem::create_symlink("victim", folder.path() + "/draft");
  const auto writer = ContentWriter::create(
      sync_file("a", "1"), {.folder = folder.path(), .draft = "draft", .whole = "draft"});
  CHECK(writer.error().message ==
        format("cannot store a on this host: {}: File exists", folder.path()));
  CHECK(folder.read("victim") == "safe");
}

/// Runs `body` in a child that can write files of at most `bytes`. Returns its exit status.
template <class Body>
int with_file_limit(rlim_t bytes, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a write that the system refuses names the file, the folder and the reason") {
  const TemporaryFolder folder;
  const std::string content(10'000, 'x');
  const int status = with_file_limit(4096, [&] {
    ContentWriter writer = writer_in(folder, sync_file("data/a.bin", content));
    const Result<> written = writer.write(as_bytes(content));
    if (written) return 1;
    const std::string& text = written.error().message;
    return text == format("cannot store data/a.bin on this host: {}: File too large", folder.path())
               ? 0
               : 2;
  });
  CHECK(status == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace dt
