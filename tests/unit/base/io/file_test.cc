#include "base/io/file.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "tests/unit/another_user.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace dt {
namespace {

TEST_CASE("a text of exactly the limit is read whole, also from a pipe") {
  const TemporaryFolder folder;
  const std::string text(100'000, 'x');
  folder.write("text", text);
  const std::string path = folder.path() + "/text";
  CHECK(read_text_file(path, text.size()).value() == text);
  CHECK(read_text_file(path, text.size() - 1).error().message == "it is larger than 0 MB");
  CHECK(read_text_file(path + "/below", 1).error().code == Errc::not_found);

  Pipe pipe = make_pipe().value();
  REQUIRE(write(pipe.write.get(), "a\n", 2) == 2);
  pipe.write.reset();
  CHECK(read_text_file(format("/dev/fd/{}", pipe.read.get()), 100).value() == "a\n");
}

TEST_CASE("a secret is read from a file of this user or root that others cannot read or change") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/secret";
  const auto fault = [&](mode_t mode) {
    folder.write("secret", "s3cret\n", mode);
    const auto text = read_secret_file(path, 100);
    CHECK((text || text.error().code == Errc::input));
    return text ? *text : text.error().message;
  };
  CHECK(fault(0600) == "s3cret\n");
  CHECK(fault(0622) == "other users may write to it; `chmod 600` it, and make a new token");
  CHECK(fault(0644) == (geteuid() == 0 ? "s3cret\n"
                                       : "other users may read it; `chmod 600` it, and make a new "
                                         "token"));
  CHECK(read_secret_file(path, 3).error().message == "it is larger than 0 MB");
  CHECK(read_secret_file(path + "s", 3).error().message == "No such file or directory");
  CHECK(read_secret_file(folder.path(), 3).error().message == "it is no regular file");
  if (give_to_another_user(path))
    CHECK(read_secret_file(path, 100).error().message ==
          "it belongs to the user 65534, not to you or root");
}

TEST_CASE("a mapped file has the bytes of the file, none when it is empty") {
  const TemporaryFolder folder;
  folder.write("some", "bytes");
  folder.write("none", "");
  MappedFile some = MappedFile::open(folder.path() + "/some").value();
  CHECK(as_text(some.bytes()) == "bytes");
  CHECK(MappedFile::open(folder.path() + "/none").value().bytes().empty());
  CHECK(MappedFile::open(folder.path() + "/gone").error().message == "No such file or directory");
  const MappedFile moved = std::move(some);
  CHECK(as_text(moved.bytes()) == "bytes");
}

TEST_CASE("files that others may have put there are not opened, and no FIFO is awaited") {
  const TemporaryFolder folder;
  folder.write("file", "bytes");
  const std::string file = folder.path() + "/file";
  const std::string fifo = folder.path() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(open_trusted_file(fifo).error().message == "it is not a regular file");
  CHECK(MappedFile::open(fifo).error().message == "it is not a regular file");
  CHECK(open_trusted_file(folder.path()).error().message == "it is not a regular file");
  // Only root can make a file of another user.
  if (chown(file.c_str(), 65534, 65534) != 0) return;
  CHECK(open_trusted_file(file));
  for (const mode_t mode : {0777U, 0720U}) {
    REQUIRE(chmod(folder.path().c_str(), mode) == 0);
    CHECK(MappedFile::open(file).error().message ==
          "it belongs to the user 65534, and other users may write to its folder; copy it to a "
          "folder of your own");
  }
}

TEST_CASE("names_folder is true for folders alone") {
  const TemporaryFolder folder;
  const std::string link = folder.path() + "/link";
  REQUIRE(::symlink(folder.path().c_str(), link.c_str()) == 0);
  CHECK(names_folder(folder.path()));
  CHECK_FALSE(names_folder(link));
  CHECK_FALSE(names_folder("/dev/null"));
  CHECK_FALSE(names_folder(folder.path() + "/none"));
}

}  // namespace
}  // namespace dt
