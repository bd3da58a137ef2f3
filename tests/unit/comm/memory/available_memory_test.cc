#include "comm/memory/available_memory.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// The files of /proc and /sys that a process sees.
struct Machine {
  std::string what;
  std::vector<std::pair<std::string, std::string>> files;  ///< path, content
  std::optional<uint64_t> bytes;
};

std::vector<Machine> machines() {
  const std::pair<std::string, std::string> host = {
      "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    1000 kB\nOdd\n"};
  const auto self = [](const std::string& text) { return std::pair("proc/self/cgroup", text); };
  const std::string group = "sys/fs/cgroup";
  const std::string v1 = group + "/memory";
  return {
      {"nothing is known", {}, {}},
      {"no cgroup", {host}, 1024000},
      {"no limit", {host, self("0::/a\n"), {group + "/a/memory.max", "max\n"}}, 1024000},
      {"a limit",
       {host,
        self("0::/a\n"),
        {group + "/a/memory.max", "500000\n"},
        {group + "/a/memory.current", "200000\n"}},
       300000},
      {"files that the kernel may drop",
       {host,
        self("0::/a\n"),
        {group + "/a/memory.max", "500000\n"},
        {group + "/a/memory.current", "200000\n"},
        {group + "/a/memory.stat", "anon 7\ninactive_file 50000\nactive_file 1000\n"}},
       351000},
      {"more is used than the limit",
       {host,
        self("0::/a\n"),
        {group + "/a/memory.max", "5\n"},
        {group + "/a/memory.current", "9\n"}},
       0},
      {"the limit of a parent",
       {host,
        self("0::/a/b\n"),
        {group + "/a/b/memory.max", "900000\n"},
        {group + "/a/b/memory.current", "1\n"},
        {group + "/a/memory.max", "400000\n"},
        {group + "/a/memory.current", "1\n"}},
       399999},
      {"a container, which sees its cgroup at the mount point",
       {self("0::/../x\n"), {group + "/memory.max", "40\n"}, {group + "/memory.current", "10\n"}},
       30},
      {"version 1",
       {host,
        self("4:cpu:/c\n3:memory:/a\n"),
        {v1 + "/a/memory.limit_in_bytes", "500000\n"},
        {v1 + "/a/memory.usage_in_bytes", "200000\n"},
        {v1 + "/a/memory.stat", "inactive_file 9\ntotal_inactive_file 1000\n"}},
       301000},
  };
}

TEST_CASE("the least that the host and its cgroups have left is available") {
  for (const Machine& machine : machines()) {
    CAPTURE(machine.what);
    const TemporaryFolder folder;
    for (const auto& [path, content] : machine.files)
      folder.write(path, content);
    CHECK(available_memory(folder.path()) == machine.bytes);
  }
}

TEST_CASE("this machine has some memory left") {
  CHECK(available_memory().value_or(0) > 0);
}

}  // namespace
}  // namespace dt
