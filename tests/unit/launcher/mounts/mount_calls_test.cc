#include "launcher/mounts/mount_calls.h"

#include "tests/unit/launcher/mounts/own_namespace.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cerrno>
#include <string>

namespace dt {
namespace {

TEST_CASE("a copy of a folder's mounts gets a place") {
  const TemporaryFolder folder;
  folder.write("from/file", "x");
  folder.write("to/other", "y");
  CHECK(in_own_namespace([&] {
          const Fd copy = copy_mounts(folder.path() + "/from");
          if (!copy) return errno == ENOSYS;
          if (!attach_mounts(copy.get(), folder.path() + "/to")) return false;
          if (folder.read("to/file") != "x") return false;
          if (!set_read_only(folder.path() + "/to")) return errno == ENOSYS;
          return ::mkdir((folder.path() + "/to/made").c_str(), 0700) != 0 && errno == EROFS;
        }) != NamespaceTest::failed);
  CHECK(folder.read("to/other") == "y");
}

TEST_CASE("the calls leave errno when they fail") {
  const TemporaryFolder folder;
  const std::string none = folder.path() + "/none";
  CHECK(in_own_namespace([&] {
          const bool no_copy = !copy_mounts(none) && (errno == ENOENT || errno == ENOSYS);
          const bool no_change = !set_read_only(none) && (errno == ENOENT || errno == ENOSYS);
          const bool no_place = !attach_mounts(-1, folder.path()) && errno != 0;
          // The folder is no mount.
          return no_copy && no_change && no_place && !pivot_root(folder.path(), folder.path()) &&
                 (errno == EINVAL || errno == EBUSY);
        }) != NamespaceTest::failed);
}

}  // namespace
}  // namespace dt
