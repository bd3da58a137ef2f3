#include "base/io/cores.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sched.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// The files of /proc and /sys that a process sees.
struct Machine {
  std::string what;
  std::vector<std::pair<std::string, std::string>> files;  ///< path, content
  std::optional<int> quota;
};

std::optional<int> quota_of(const Machine& machine) {
  const TemporaryFolder folder;
  for (const auto& [path, content] : machine.files)
    folder.write(path.substr(1), content);
  return cpu_quota(folder.path());
}

const std::string cgroup = "/sys/fs/cgroup";

std::vector<Machine> machines() {
  const auto self = [](const std::string& lines) { return std::pair("/proc/self/cgroup", lines); };
  const auto v1 = [](const std::string& path, const std::string& quota) {
    return std::pair(cgroup + "/cpu" + path + "/cpu.cfs_quota_us", quota);
  };
  const auto period = [](const std::string& path) {
    return std::pair(cgroup + "/cpu" + path + "/cpu.cfs_period_us", std::string("100000\n"));
  };
  return {
      {"no cgroups", {}, {}},
      {"no limit", {self("0::/a\n"), {cgroup + "/a/cpu.max", "max 100000\n"}}, {}},
      {"version 2", {self("0::/a\n"), {cgroup + "/a/cpu.max", "200000 100000\n"}}, 2},
      {"a part of a CPU is not whole",
       {self("0::/a\n"), {cgroup + "/a/cpu.max", "350000 100000\n"}},
       3},
      {"less than one", {self("0::/a\n"), {cgroup + "/a/cpu.max", "50000 100000\n"}}, 0},
      {"a limit of a parent",
       {self("0::/a/b/c\n"),
        {cgroup + "/a/cpu.max", "400000 100000\n"},
        {cgroup + "/a/b/cpu.max", "max 100000\n"},
        {cgroup + "/a/b/c/cpu.max", "800000 100000\n"}},
       4},
      {"a container with the path of its host",
       {self("0::/docker/0123\n"), {cgroup + "/cpu.max", "100000 50000\n"}},
       2},
      {"a path outside of the container",
       {self("0::/../x\n"), {cgroup + "/cpu.max", "300000 100000\n"}},
       3},
      {"version 1",
       {self("5:memory:/m\n4:cpu,cpuacct:/a\n0::/\n"), v1("/a", "600000\n"), period("/a")},
       6},
      {"version 1 without a limit",
       {self("4:cpuacct,cpu:/a\n"), v1("/a", "-1\n"), period("/a")},
       {}},
      {"the controller's name is whole",
       {self("4:cpuset:/a\n"), v1("/a", "600000\n"), period("/a")},
       {}},
      {"both versions, the smaller limit",
       {self("4:cpu:/\n0::/a\n"),
        v1("", "600000\n"),
        period(""),
        {cgroup + "/a/cpu.max", "500000 100000\n"}},
       5},
      {"nonsense", {self("0::/a\n:\n\n7\n"), {cgroup + "/a/cpu.max", "many\n"}}, {}},
      {"a period of zero", {self("0::/a\n"), {cgroup + "/a/cpu.max", "1 0\n"}}, {}},
  };
}

TEST_CASE("the CPU quota is the smallest of all cgroups above, in both versions") {
  for (const Machine& machine : machines()) {
    CAPTURE(machine.what);
    CHECK(quota_of(machine) == machine.quota);
  }
}

TEST_CASE("ranks share cores when they are more than the CPUs, or than the quota") {
  CHECK(!ranks_share({.cpus = 2}, 2));
  CHECK(ranks_share({.cpus = 2}, 3));
  CHECK(ranks_share({.cpus = 8, .quota = 2}, 3));
  CHECK(!ranks_share({.cpus = 8, .quota = 3}, 3));
  CHECK(ranks_share({.cpus = 8, .quota = 0}, 1));
  CHECK(ranks_share({.cpus = 1, .quota = 4}, 2));
}

TEST_CASE("usable CPUs are at least one, and at most the allowed ones") {
  CHECK(usable_cpus() >= 1);
  CHECK(usable_cpus() <= allowed_cpus({}));
}

TEST_CASE("the allowed CPUs are those of this thread and of the other processes") {
  std::thread([] {
    const int all = allowed_cpus({});
    CHECK(all >= 1);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(sched_getcpu(), &first);
    REQUIRE(sched_setaffinity(0, sizeof first, &first) == 0);
    CHECK(allowed_cpus({}) == 1);
    // The first thread of this process still has all.
    const std::vector<pid_t> processes = {0, -1, getpid()};
    CHECK(allowed_cpus(processes) == all);
  }).join();
}

TEST_CASE("the largest cache is the one that the kernel shows as largest") {
  const std::string caches = "/sys/devices/system/cpu/cpu0/cache/index";
  const auto size = [&caches](int index, const std::string& text) {
    return std::pair(caches + std::to_string(index) + "/size", text);
  };
  struct Case {
    std::vector<std::pair<std::string, std::string>> files;
    size_t mib;
  };
  const std::vector<Case> cases = {
      {{size(0, "32K\n"), size(1, "32K\n"), size(2, "1024K\n"), size(3, "32768K\n")}, 32},
      {{size(0, "48K\n"), size(1, "32K\n"), size(2, "2048K\n"), size(3, "266240K\n")}, 260},
      {{size(0, "2048K\n"), size(1, "1024K\n")}, 2},
      {{}, 0},
      {{size(0, ""), size(1, "many\n"), size(2, "-1024K\n"), size(3, "K\n")}, 0},
  };
  for (const auto& [files, mib] : cases) {
    const TemporaryFolder folder;
    for (const auto& [path, content] : files)
      folder.write(path.substr(1), content);
    CAPTURE(mib);
    CHECK(largest_cache_bytes(folder.path()) == mib << 20);
  }
}

}  // namespace
}  // namespace dt
