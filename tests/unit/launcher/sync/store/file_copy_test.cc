#include "launcher/sync/store/file_copy.h"

#include "base/io/fd.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>

#include <span>
#include <string>

namespace dt {
namespace {

TEST_CASE("copy: small and large contents, on the same file system and on another") {
  const TemporaryFolder folder;
  std::string content;
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{5000}, size_t{131'072}, size_t{3'000'001}}) {
    CAPTURE(size);
    while (content.size() < size)
      content += static_cast<char>('a' + content.size() % 26);
    folder.write("from", content);
    const Fd from(::open((folder.path() + "/from").c_str(), O_RDONLY | O_CLOEXEC));
    const Fd to(
        ::open((folder.path() + "/to").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    FileCopier copier;
    CHECK(copier.copy(from.get(), to.get(), size));
    CHECK(folder.read("to") == content);
    CHECK(flush_if_remote(to.get()));
    const Fd memory(::memfd_create("copy", MFD_CLOEXEC));
    const Fd again(::open((folder.path() + "/from").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(copier.copy(again.get(), memory.get(), size));
    std::string copied(size, '\0');
    CHECK(read_all_at(memory.get(), 0, std::as_writable_bytes(std::span(copied))));
    CHECK(copied == content);
  }
}

TEST_CASE("copy: a source of another size is not found") {
  const TemporaryFolder folder;
  folder.write("from", "12345");
  const Fd from(::open((folder.path() + "/from").c_str(), O_RDONLY | O_CLOEXEC));
  const Fd to(::open((folder.path() + "/to").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  FileCopier copier;
  CHECK(copier.copy(from.get(), to.get(), 4).error().code == Errc::not_found);
  CHECK(copier.copy(from.get(), to.get(), 6).error().code == Errc::not_found);
}

TEST_CASE("content_digest: the SHA-256 of all that is left") {
  const TemporaryFolder folder;
  const std::string content(300'000, 'x');
  folder.write("file", content);
  const Fd file(::open((folder.path() + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(content_digest(file.get()).value() == sha256(as_bytes(content)));
  const Fd none(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(content_digest(none.get()));
}

}  // namespace
}  // namespace dt
