#pragma once

#include "launcher/protocol/host_diagnostics.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace dt {

/// Returns all facts that take no time. GPUs (NVIDIA's driver) and Python's version are missing.
/// `open_files_soft` is the limit of tasks, since the agent has raised its own.
HostDiagnostics gather_facts(uint64_t open_files_soft);

/// Returns a value of /proc/meminfo, which has kB, in bytes; 0 when the line is missing.
int64_t meminfo_bytes(std::string_view meminfo, std::string_view name);
/// Returns "3.11.2" for "Python 3.11.2"; empty for another text.
std::string python_version_of(std::string_view printed);

/// Returns the memory limit of the version 2 cgroup `path` in `root` and of its parents; 0: none.
int64_t cgroup_memory_max(const std::string& root, const std::string& path);

}  // namespace dt
