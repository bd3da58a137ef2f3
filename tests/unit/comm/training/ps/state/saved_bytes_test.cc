#include "comm/training/ps/state/saved_bytes.h"

#include <doctest/doctest.h>

#include <array>

namespace dt {
namespace {

TEST_CASE("saved bytes are read in order, up to the digest, which must fit") {
  Bytes content = to_bytes("head and arrays");
  const Digest digest = sha256(content);
  content.insert(content.end(), digest.begin(), digest.end());
  const SavedBytes saved = SavedBytes::in_memory(content);
  CHECK(SavedReader(saved).check_digest());
  SavedReader reader(saved);
  std::array<std::byte, 4> head = {};
  REQUIRE(reader.read(head));
  CHECK(as_text(head) == "head");
  CHECK(reader.left() == 11);
  std::array<std::byte, 12> more = {};
  CHECK(reader.read(more).error().message == "it is cut short");
  content[0] ^= std::byte{1};
  CHECK_FALSE(SavedReader(saved).check_digest());
  CHECK_FALSE(SavedReader(SavedBytes::in_memory({})).check_digest());
}

}  // namespace
}  // namespace dt
