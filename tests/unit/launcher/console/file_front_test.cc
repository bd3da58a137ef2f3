#include "launcher/console/file_front.h"

#include "base/bytes.h"
#include "base/io/fd.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace dt {
namespace {

TEST_CASE("a file loses its oldest blocks, and the others stay at their offsets") {
  const TemporaryFolder folder;
  const Fd file(::open((folder.path() + "/f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::string text;
  while (text.size() < 100000)
    text += "0123456789abcdef";
  REQUIRE(write_all(file.get(), as_bytes(text)).has_value());
  FileFront front = {.written = text.size()};
  const uint64_t lost = drop_front(file.get(), front, 10000);
  struct stat about = {};
  REQUIRE(::fstat(file.get(), &about) == 0);
  if (about.st_size == 0) {
    // The file system makes no holes: all is gone.
    CHECK(lost == text.size());
    CHECK(front.kept() == 0);
    return;
  }
  CHECK(lost == 12288);
  CHECK(front.kept() == text.size() - 12288);
  CHECK(::lseek(file.get(), 0, SEEK_DATA) == 12288);
  std::array<std::byte, 16> rest = {};
  REQUIRE(read_all_at(file.get(), 12288, rest).has_value());
  CHECK(as_text(rest) == "0123456789abcdef");
  CHECK(drop_front(file.get(), front, 1000000) == text.size() - 12288);
  CHECK(front.kept() == 0);
}

TEST_CASE("a file that can have no holes loses all") {
  const Pipe pipe = make_pipe().value();
  FileFront front = {.written = 50000, .dropped = 4096};
  CHECK(drop_front(pipe.write.get(), front, 1) == 50000 - 4096);
  CHECK(front.kept() == 0);
}

}  // namespace
}  // namespace dt
