#include "launcher/sync/server/shared_folders.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("SharedFolders: hosts share a folder when one of them sees the other's marker") {
  SharedFolders folders;
  folders.add(1, "a");
  folders.add(2, "b");
  folders.add(3, "c");
  CHECK(folders.group(1) != folders.group(2));
  folders.see(2, {"b", "a", "of no host"});
  CHECK(folders.group(1) == folders.group(2));
  CHECK(folders.group(1) != folders.group(3));
  SUBCASE("a later host joins them by one marker that is left") {
    folders.add(4, "d");
    folders.see(4, {"d", "b"});
    CHECK(folders.group(4) == folders.group(1));
    CHECK(folders.group(4) != folders.group(3));
  }
  SUBCASE("a host that sees none keeps its folder for itself") {
    folders.see(3, {});
    CHECK(folders.group(2) != folders.group(3));
  }
}

}  // namespace
}  // namespace dt
