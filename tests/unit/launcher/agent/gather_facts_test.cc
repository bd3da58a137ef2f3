#include "launcher/agent/gather_facts.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

namespace dt {
namespace {

TEST_CASE("some facts are known on every host") {
  const HostDiagnostics host = gather_facts(777);
  CHECK_FALSE(host.hostname.empty());
  CHECK_FALSE(host.glibc.empty());
  CHECK_FALSE(host.kernel.empty());
  CHECK(host.executable.starts_with('/'));
  CHECK_FALSE(host.addresses.empty());
  CHECK(host.cpus_allowed >= 1);
  CHECK(host.cpus_online >= host.cpus_allowed);
  CHECK(host.memory_bytes >= host.memory_free_bytes);
  CHECK(host.memory_free_bytes > 0);
  CHECK(host.open_files.soft == 777);
  CHECK(host.temporary.bytes.value_or(0) > 0);
  CHECK(host.temporary.free_bytes <= host.temporary.bytes);
}

TEST_CASE("the folder of a job, its files and the host's own name are looked for") {
  const TemporaryFolder folder;
  folder.write("train.py", "");
  HostDiagnostics facts =
      look_around(folder.path(), {"train.py", "other.py", "/bin/sh"}, "localhost");
  CHECK(facts.folder == folder.path());
  CHECK(facts.folder_failure.empty());
  CHECK(facts.files_missing == std::vector<std::string>{"other.py"});
  CHECK_FALSE(facts.name_addresses.empty());
  facts = look_around(folder.path() + "/none", {"train.py"}, "no such name.invalid");
  CHECK(facts.folder_failure == "No such file or directory");
  CHECK(facts.files_missing == std::vector<std::string>{"train.py"});
  CHECK(facts.name_addresses.empty());
  CHECK_FALSE(facts.name_failure.empty());
}

TEST_CASE("a name has the address of its first line in /etc/hosts") {
  constexpr std::string_view hosts =
      "127.0.0.1\tlocalhost # node2\n#10.0.0.1 node2\n127.0.1.1 node2.example node2\n10.0.0.2 "
      "node2\n";
  CHECK(address_in_hosts(hosts, "node2") == "127.0.1.1");
  CHECK(address_in_hosts(hosts, "localhost") == "127.0.0.1");
  CHECK(address_in_hosts(hosts, "127.0.1.1").empty());
  CHECK(address_in_hosts("", "node2").empty());
}

TEST_CASE("values of meminfo are bytes, and 0 for a missing line") {
  constexpr std::string_view meminfo =
      "MemTotal:       24683668 kB\nMemFree:  1 kB\nMemAvailable:   20000000 kB\nOdd: x\n";
  CHECK(meminfo_bytes(meminfo, "MemTotal") == int64_t{24683668} << 10);
  CHECK(meminfo_bytes(meminfo, "MemAvailable") == int64_t{20000000} << 10);
  CHECK(meminfo_bytes(meminfo, "Mem") == 0);
  CHECK(meminfo_bytes(meminfo, "Odd") == 0);
  CHECK(meminfo_bytes("", "MemTotal") == 0);
}

TEST_CASE("a version of Python is the text that it prints behind its name") {
  CHECK(python_version_of("Python 3.11.2\n") == "3.11.2");
  CHECK(python_version_of("Python 2.7.18 :: Anaconda, Inc.\n") == "2.7.18");
  CHECK(python_version_of("pyenv: python3: command not found\n") == "");
  CHECK(python_version_of("Python") == "");
  CHECK(python_version_of("") == "");
}

TEST_CASE("folders of a PATH that do not exist are named once, and in order") {
  const TemporaryFolder root;
  root.write("file", "");
  const std::string file = root.path() + "/file";
  CHECK(missing_folders("/no/b::" + root.path() + ":/no/a:/no/b:" + file) ==
        std::vector<std::string>{"/no/b", "/no/a", file});
  CHECK(missing_folders("").empty());
}

TEST_CASE("modules are read from the lines of the import program") {
  CHECK(modules_of("torch\t2.1\t\njunk\nx\t\tImportError: x\nother\t1\t\n", {"torch", "x", "y"},
                   "late") == std::vector<PythonModule>{{"torch", "2.1", ""},
                                                        {"x", "", "ImportError: x"},
                                                        {"y", "", "late"}});
}

TEST_CASE("the smallest memory limit of a cgroup and its parents counts") {
  const TemporaryFolder root;
  root.write("a/b/memory.max", "max\n");
  CHECK(cgroup_memory_max(root.path(), "/a/b") == 0);
  root.write("a/memory.max", "2000\n");
  CHECK(cgroup_memory_max(root.path(), "/a/b") == 2000);
  root.write("a/b/memory.max", "3000\n");
  CHECK(cgroup_memory_max(root.path(), "/a/b") == 2000);
  root.write("memory.max", "1000\n");
  CHECK(cgroup_memory_max(root.path(), "/a/b") == 1000);
  CHECK(cgroup_memory_max(root.path(), "") == 0);
}

}  // namespace
}  // namespace dt
