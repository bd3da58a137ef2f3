#pragma once

#include "launcher/protocol/host_diagnostics.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns all facts that take no time. GPUs (NVIDIA's driver) and Python's version are missing.
/// `open_files_soft` is the limit of tasks, since the agent has raised its own.
HostDiagnostics gather_facts(uint64_t open_files_soft);

/// Returns what a job meets that starts in `folder`: the folder, these files, the home, and the
/// addresses of this host's own name. Blocks as long as file systems and the resolver do.
HostDiagnostics look_around(const std::string& folder, const std::vector<std::string>& files,
                            const std::string& hostname);

/// Returns "node2 is 127.0.1.1" if /etc/hosts leads the host's own name to a loopback address. Else
/// empty. It asks no resolver, since an agent must not wait for one.
std::string misleading_own_name();
/// Returns the first address of the name in a text as /etc/hosts; empty when it has none.
std::string address_in_hosts(std::string_view hosts, std::string_view name);
/// Returns a value of /proc/meminfo, which has kB, in bytes; 0 when the line is missing.
int64_t meminfo_bytes(std::string_view meminfo, std::string_view name);
/// Returns "3.11.2" for "Python 3.11.2"; empty for another text.
std::string python_version_of(std::string_view printed);

/// Returns the folders of a PATH that do not exist. An empty entry stands for the current folder.
std::vector<std::string> missing_folders(std::string_view path);

/// Returns a Python program that imports the modules of its arguments, and prints a line for each
/// at once. Drops the modules' own output.
std::string import_program();
/// Reads the lines of import_program(). A module without a line gets `why_missing` as its failure.
std::vector<PythonModule> modules_of(std::string_view printed,
                                     const std::vector<std::string>& names,
                                     const std::string& why_missing);

/// Returns the memory of this host that cgroups of version 2 leave to this process; 0: unknown.
int64_t usable_memory_bytes();
/// Returns the memory limit of the version 2 cgroup `path` in `root` and of its parents; 0: none.
int64_t cgroup_memory_max(const std::string& root, const std::string& path);

}  // namespace dt
