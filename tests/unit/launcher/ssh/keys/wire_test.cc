#include "launcher/ssh/keys/wire.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("what is written is read back, big-endian") {
  const Bytes bytes = SshWriter().byte(7).number(0x01020304).string("word").take();
  CHECK(as_text(bytes) == std::string_view("\7\1\2\3\4\0\0\0\4word", 13));
  SshReader reader(bytes);
  CHECK(reader.byte() == 7);
  CHECK(reader.number() == 0x01020304);
  CHECK(as_text(reader.string()) == "word");
  CHECK(reader.ok());
}

TEST_CASE("a length beyond the end makes the reader bad and yields nothing") {
  const Bytes bytes = SshWriter().number(0xffffffff).byte(1).take();
  SshReader reader(bytes);
  CHECK(reader.string().empty());
  CHECK(!reader.ok());
  CHECK(reader.number() == 0);
  CHECK(key_type_of(bytes).empty());
  CHECK(key_type_of({}).empty());
}

}  // namespace
}  // namespace dt
