#include "base/io/sealed_file.h"

#include "base/io/fd.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

namespace dt {
namespace {

constexpr size_t bytes = 3 * 4096;

Fd shared_file() {
  Fd file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(file);
  REQUIRE(ftruncate(file.get(), bytes) == 0);
  return file;
}

TEST_CASE("no peer can change the size of shared memory once it is sealed") {
  const Fd memory = shared_file();
  CHECK(sealed_size(memory.get()).error().code == Errc::protocol);
  REQUIRE(seal_size(memory.get()));
  CHECK(sealed_size(memory.get()).value() == bytes);
  CHECK(ftruncate(memory.get(), 1) < 0);
  CHECK(ftruncate(memory.get(), 2 * bytes) < 0);
}

TEST_CASE("memory for which a process has no place is not mapped") {
  const Fd memory = shared_file();
  CHECK(map_shared(memory.get(), size_t{1} << 60).error().code == Errc::out_of_memory);
  CHECK(map_shared(-1, bytes).error().code == Errc::os);
}

TEST_CASE("a forked child does not have the memory") {
  const Fd memory = shared_file();
  std::byte* const mapped = map_shared(memory.get(), bytes).value();
  mapped[0] = std::byte{1};
  const pid_t child = fork();
  if (child == 0) {
    // Reports the page that is missing without reading it.
    unsigned char resident = 0;
    _exit(mincore(mapped, 1, &resident) == 0 ? 0 : 7);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(mapped[0] == std::byte{1});
  munmap(mapped, bytes);
}

}  // namespace
}  // namespace dt
