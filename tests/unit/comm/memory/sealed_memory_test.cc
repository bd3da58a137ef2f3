#include "comm/memory/sealed_memory.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstddef>
#include <optional>

namespace dt {
namespace {

constexpr size_t bytes = 3 * 4096;

std::optional<uint64_t> plenty() {
  return std::nullopt;
}

TEST_CASE("shared memory is allocated at once, and not sealed") {
  const Fd memory = allocate_shared("shared memory for a test", bytes, plenty).value();
  struct stat status = {};
  REQUIRE(fstat(memory.get(), &status) == 0);
  CHECK(static_cast<size_t>(status.st_blocks) * 512 == bytes);
  CHECK(sealed_size(memory.get()).error().code == Errc::protocol);
}

TEST_CASE("shared memory that is too large for the host is an error") {
  const auto little = [] { return std::optional<uint64_t>(bytes - 1); };
  const auto none = allocate_shared("shared memory for a test", bytes, little);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::os);
  CHECK(none.error().message.find("shared memory for a test") != std::string::npos);
}

}  // namespace
}  // namespace dt
