#include "launcher/mounts/host_mounts.h"

#include "base/io/file.h"
#include "launcher/mounts/mount_table.h"
#include "tests/unit/launcher/mounts/own_namespace.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Sets mounts up in this process, and waits for the result. Returns the error; empty: none.
std::string set_up(Loop& loop, HostMounts& mounts, std::vector<Mount> wanted) {
  std::optional<Result<>> result;
  constexpr Duration patience = seconds(20);
  mounts.set_up({std::move(wanted), patience, "/"},
                [&result](const Result<>& done) { result = done; });
  while (!result)
    if (!loop.run_once(Time::max())) return "the loop failed";
  return *result ? "" : result->error().message;
}

std::string message_of(const std::vector<Mount>& mounts) {
  const auto found = find_sources(mounts);
  return found ? std::string() : found.error().message;
}

TEST_CASE("the sources of mounts are folders of the host") {
  const TemporaryFolder folder;
  folder.write("file", "");
  const std::string& path = folder.path();
  CHECK(
      find_sources({{path + "/./", "/x", false, ""}, {"any", "/y", false, "c {target}"}}).value() ==
      std::vector<std::string>{path, ""});
  CHECK(message_of({{path + "/none", "/x", false, ""}}) ==
        "cannot mount " + path + "/none at /x: No such file or directory");
  CHECK(message_of({{path + "/file", "/x", false, ""}}) ==
        "cannot mount " + path + "/file at /x: Not a directory");
  CHECK(message_of({{"nfs://no.such.host/a b", "/x", false, ""}}) ==
        "cannot mount nfs://no.such.host/a b at /x: the host has not mounted it; an administrator "
        "does so, for example: mount -t nfs 'no.such.host:/a b' /mnt");
}

TEST_CASE("folders appear at their targets, parents first, also where one hides another") {
  const TemporaryFolder folder;
  folder.write("a/file", "a");
  folder.write("b/file", "b");
  folder.write("c/a/file", "inner");
  std::filesystem::create_directories(folder.path() + "/a/in");
  const std::string& path = folder.path();
  const auto ended = in_own_namespace([&] {
    const auto loop = Loop::create();
    HostMounts mounts(**loop);
    // The mount at b hides the source of the second one, and has the target of the third.
    const std::string why = set_up(**loop, mounts,
                                   {{path + "/c", path + "/b/in", true, ""},
                                    {path + "/b", path + "/c", false, ""},
                                    {path + "/a", path + "/b", false, ""}});
    if (!why.empty()) return false;
    const bool again = set_up(**loop, mounts, {}).empty();
    return again && folder.read("b/file") == "a" && folder.read("c/file") == "b" &&
           folder.read("b/in/a/file") == "inner" &&
           ::mkdir((path + "/b/in/made").c_str(), 0700) != 0;
  });
  CHECK(ended != NamespaceTest::failed);
}

TEST_CASE("a mount at the place of its source needs no namespace") {
  const TemporaryFolder folder;
  const auto loop = Loop::create();
  HostMounts mounts(**loop);
  const std::string before = std::filesystem::read_symlink("/proc/self/ns/mnt");
  CHECK(set_up(**loop, mounts, {{folder.path(), folder.path(), false, ""}}).empty());
  CHECK(std::filesystem::read_symlink("/proc/self/ns/mnt") == before);
}

TEST_CASE("a command's mount appears at its target, and ends with the object") {
  const TemporaryFolder folder;
  const std::string target = folder.path() + "/target";
  folder.write("from/file", "");
  std::filesystem::create_directories(target);
  const auto ended = in_own_namespace([&] {
    const auto loop = Loop::create();
    HostMounts mounts(**loop);
    const std::string command = "mount --bind " + folder.path() + "/from {target}";
    if (!set_up(**loop, mounts, {{"any", target, true, command}}).empty()) return false;
    const bool is_there =
        std::filesystem::exists(target + "/file") && ::mkdir((target + "/made").c_str(), 0700) != 0;
    if (mounts.processes().size() != 1 || !mounts.owns(mounts.processes().front())) return false;
    bool over = false;
    mounts.end([&over] { over = true; });
    while (!over)
      if (!(*loop)->run_once(Time::max())) return false;
    return is_there;
  });
  CHECK(ended != NamespaceTest::failed);
  CHECK(std::filesystem::is_empty(target));
}

}  // namespace
}  // namespace dt
