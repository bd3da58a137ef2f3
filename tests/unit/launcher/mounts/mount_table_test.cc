#include "launcher/mounts/mount_table.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

const std::string shown =
    "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    "40 27 0:40 / /mnt/a\\040b\\134c rw master:3 propagate_from:2 - nfs4 store:/export "
    "rw,vers=4.2\n"
    "41 27 0:41 /sub /deep ro - nfs store:/export/ rw\n"
    "42 27 0:42 / /v6 rw - nfs4 [fd00::1]:/ rw\n"
    "43 27 0:43 / /fuse rw - fuse.sshfs store:/export rw\n"
    "44 40 0:44 / /mnt/a\\040b\\134c/below rw - tmpfs tmpfs rw\n"
    "no line\n"
    "x 27 0:43 / /y rw - a b c\n"
    "1 2 - a b\n";

TEST_CASE("the kernel's table of mounts is read") {
  const MountTable table = parse_mount_table(shown);
  REQUIRE(table.size() == 7);
  CHECK(table[0] == MountEntry{22, "/", "/proc", "proc", "proc"});
  CHECK(table[2] == MountEntry{40, "/", "/mnt/a b\\c", "nfs4", "store:/export"});
  CHECK(table[3].root == "/sub");
  CHECK(parse_mount_table("").empty());
}

TEST_CASE("the mount of an export is found, the nearest one first") {
  const MountTable table = parse_mount_table(shown);
  const auto place = [&table](std::string server, std::string path) {
    return place_of_export(table, {std::move(server), std::move(path)}).value_or("none");
  };
  CHECK(place("store", "/export") == "/mnt/a b\\c");
  CHECK(place("store", "/export/x/y") == "/mnt/a b\\c/x/y");
  CHECK(place("store", "/export/sub") == "/deep");
  CHECK(place("store", "/export/sub/z") == "/deep/z");
  CHECK(place("store", "/exports") == "none");
  CHECK(place("store", "/") == "none");
  CHECK(place("other", "/export") == "none");
  CHECK(place("[fd00::1]", "/any/where") == "/v6/any/where");
}

TEST_CASE("mounts at and below a folder are found") {
  const MountTable table = parse_mount_table(shown);
  CHECK(places_below(table, "/mnt/a b\\c") ==
        std::vector<std::string>{"/mnt/a b\\c", "/mnt/a b\\c/below"});
  CHECK(places_below(table, "/mnt/a") == std::vector<std::string>{"/mnt/a"});
  CHECK(places_below(table, "/").size() == 7);
  CHECK(is_mounted_at(table, "/deep"));
  CHECK_FALSE(is_mounted_at(table, "/dee"));
}

TEST_CASE("a process finds its own mounts") {
  CHECK(is_mounted_at(own_mount_table().value(), "/proc"));
}

}  // namespace
}  // namespace dt
