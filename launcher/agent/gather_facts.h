#pragma once

#include "launcher/protocol/host_diagnostics.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace dt {

/// All facts that take no time: not the GPUs, which NVIDIA's driver tells, nor Python's version.
/// `open_files_soft` is the limit that tasks get; ours was raised.
HostDiagnostics gather_facts(uint64_t open_files_soft);

/// What /proc/meminfo says in kB, in bytes; 0 when the line is not there.
int64_t meminfo_bytes(std::string_view meminfo, std::string_view name);
/// "Python 3.11.2" → "3.11.2"; empty when the text is something else.
std::string python_version_of(std::string_view printed);

/// Memory that the cgroup of version 2 `path` in `root` and those above it allow; 0: no limit.
int64_t cgroup_memory_max(const std::string& root, const std::string& path);

}  // namespace dt
