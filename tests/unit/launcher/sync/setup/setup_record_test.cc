#include "launcher/sync/setup/setup_record.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("a record has the commands that succeeded, with the files that they named") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/done";
  const Digest one = sha256(as_bytes("one"));
  const Digest other = sha256(as_bytes("other"));
  SetupRecord record = SetupRecord::read(path);
  CHECK(!record.has(0, one));
  REQUIRE(record.add(0, one).has_value());
  REQUIRE(record.add(3, other).has_value());
  const SetupRecord again = SetupRecord::read(path);
  CHECK(again.has(0, one));
  CHECK(!again.has(0, other));
  CHECK(again.has(3, other));
  REQUIRE(record.remove(3).has_value());
  CHECK(SetupRecord::read(path).has(0, one));
  CHECK(!SetupRecord::read(path).has(3, other));
}

TEST_CASE("a broken record is an empty one") {
  const TemporaryFolder folder;
  const Digest one = sha256(as_bytes("one"));
  for (const char* text : {"", "\n", "x y\n", "-1 00\n", "0\n", "0 00 00\n", "\xff\xff"}) {
    folder.write("done", text);
    CHECK(!SetupRecord::read(folder.path() + "/done").has(0, one));
  }
  CHECK(!SetupRecord::read(folder.path()).has(0, one));
}

}  // namespace
}  // namespace dt
