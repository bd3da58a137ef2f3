#include "launcher/mounts/mount_namespace.h"

#include "base/io/file.h"
#include "tests/unit/launcher/mounts/own_namespace.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace dt {
namespace {

/// A folder `from` with a file, in which a file system in memory is mounted, and a folder `to`.
struct Folders {
  TemporaryFolder folder;
  std::string from = folder.path() + "/from";
  std::string to = folder.path() + "/to";
  Folders() {
    folder.write("from/file", "text");
    std::filesystem::create_directories(from + "/below");
    std::filesystem::create_directories(to);
  }
  bool mount_below() const {
    return ::mount("test", (from + "/below").c_str(), "tmpfs", 0, nullptr) == 0;
  }
  bool mount_it(HeldFolder::Calls calls) const {
    auto held = HeldFolder::open(from, calls);
    return held && held->mount_at(to) && read_text_file(to + "/file", 100).value_or("") == "text";
  }
};

bool writes(const std::string& folder) {
  const std::string made = folder + "/made";
  return ::mkdir(made.c_str(), 0700) == 0 && ::rmdir(made.c_str()) == 0;
}

TEST_CASE("a mount is seen in its namespace, and not outside") {
  const Folders folders;
  const auto calls = {HeldFolder::Calls::newer, HeldFolder::Calls::older};
  for (const bool as_user : {false, true}) {
    for (const HeldFolder::Calls one : calls) {
      CHECK(in_own_namespace(
                [&] {
                  return folders.mount_below() && folders.mount_it(one) && writes(folders.to) &&
                         writes(folders.to + "/below");
                },
                as_user) != NamespaceTest::failed);
      CHECK(std::filesystem::is_empty(folders.to));
      CHECK(std::filesystem::is_empty(folders.from + "/below"));
    }
  }
}

TEST_CASE("a read-only mount has read-only mounts below it") {
  const Folders folders;
  for (const auto make : {make_read_only, remount_read_only}) {
    for (const bool as_user : {false, true}) {
      CHECK(in_own_namespace(
                [&] {
                  return folders.mount_below() && folders.mount_it(HeldFolder::Calls::newer) &&
                         !check_read_only(folders.to) && make(folders.to) &&
                         check_read_only(folders.to) && !writes(folders.to) &&
                         !writes(folders.to + "/below") && writes(folders.from) &&
                         writes(folders.from + "/below");
                },
                as_user) != NamespaceTest::failed);
    }
  }
}

TEST_CASE("a mount below that can be written is found") {
  const Folders folders;
  CHECK(in_own_namespace([&] {
          if (!folders.mount_it(HeldFolder::Calls::newer) || !make_read_only(folders.to))
            return false;
          const bool before = check_read_only(folders.to).has_value();
          const std::string below = folders.to + "/below";
          if (::mount("test", below.c_str(), "tmpfs", 0, nullptr) != 0) return false;
          const auto after = check_read_only(folders.to);
          return before && !after &&
                 after.error().message == below + " could not be made read-only";
        }) != NamespaceTest::failed);
}

TEST_CASE("a process keeps its user in a user namespace, and its files") {
  const Folders folders;
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  CHECK(in_own_namespace(
            [&] {
              struct stat about = {};
              return ::getuid() == user && ::getgid() == group &&
                     ::stat((folders.from + "/file").c_str(), &about) == 0 && about.st_uid == user;
            },
            true) != NamespaceTest::failed);
}

TEST_CASE("a held folder stays, whatever hides it, and links are followed") {
  const Folders folders;
  std::filesystem::create_symlink(folders.to, folders.folder.path() + "/link");
  CHECK(in_own_namespace([&] {
          auto held = HeldFolder::open(folders.from);
          if (!held || ::mount("test", folders.from.c_str(), "tmpfs", 0, nullptr) != 0)
            return false;
          return held->mount_at(folders.folder.path() + "/link") &&
                 read_text_file(folders.to + "/file", 100).value_or("") == "text";
        }) != NamespaceTest::failed);
  CHECK(in_own_namespace([&] { return !HeldFolder::open(folders.from + "/none"); }) !=
        NamespaceTest::failed);
}

}  // namespace
}  // namespace dt
