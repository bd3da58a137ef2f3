#include "comm/memory/sealed_memory.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <optional>

namespace dt {
namespace {

constexpr size_t bytes = 3 * 4096;

std::optional<uint64_t> plenty() {
  return std::nullopt;
}

TEST_CASE("shared memory is allocated at once, and no peer can change its size once it is sealed") {
  const Fd memory = allocate_shared("shared memory for a test", bytes, plenty).value();
  struct stat status = {};
  REQUIRE(fstat(memory.get(), &status) == 0);
  CHECK(static_cast<size_t>(status.st_blocks) * 512 == bytes);
  CHECK(sealed_size(memory.get()).error().code == Errc::protocol);
  REQUIRE(seal_size(memory.get()));
  CHECK(sealed_size(memory.get()).value() == bytes);
  CHECK(ftruncate(memory.get(), 1) < 0);
  CHECK(ftruncate(memory.get(), 2 * bytes) < 0);
}

TEST_CASE("shared memory that is too large for the host is an error") {
  const auto little = [] { return std::optional<uint64_t>(bytes - 1); };
  const auto none = allocate_shared("shared memory for a test", bytes, little);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::os);
  CHECK(none.error().message.find("shared memory for a test") != std::string::npos);
}

TEST_CASE("a forked child does not have the memory") {
  const Fd memory = allocate_shared("shared memory for a test", bytes, plenty).value();
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
