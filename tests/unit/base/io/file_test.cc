#include "base/io/file.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace dt
