#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace dt {

/// The processors that the ranks of this host have.
struct Cores {
  int cpus = 1;              ///< on which at least one of the ranks may run
  std::optional<int> quota;  ///< whole CPUs of time that cgroups leave; none without a limit
  bool operator==(const Cores&) const = default;
};

/// Returns how many CPUs this process or one of `others` may use. A process that the kernel does
/// not report is left out.
int allowed_cpus(std::span<const pid_t> others);
/// Returns the smallest CPU quota of this process's cgroup and those above it, in both versions of
/// cgroups. `root` comes before the paths of /proc and /sys.
std::optional<int> cpu_quota(const std::string& root = "");
/// Returns how many CPUs this process has at the same time: at most those of its affinity mask, and
/// at most its quota. At least 1.
int usable_cpus();
/// Returns the size of the largest cache of the first CPU; 0 where the kernel does not show it.
/// `root` as above.
size_t largest_cache_bytes(const std::string& root = "");
/// True when so many ranks cannot all run at the same time.
bool ranks_share(const Cores& cores, int ranks);

}  // namespace dt
