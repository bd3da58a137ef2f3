#include "base/io/cores.h"

#include "base/io/file.h"
#include "base/text.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>
#include <vector>

namespace dt {

namespace {

constexpr size_t file_bytes_max = 64 << 10;
/// Room for 8,192 CPUs.
using CpuMask = std::array<unsigned long, 128>;

void add_cpus(pid_t process, CpuMask& to) {
  CpuMask mask = {};
  if (sched_getaffinity(process, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) < 0)
    return;
  for (size_t i = 0; i < mask.size(); ++i)
    to[i] |= mask[i];
}

std::string text_of(const std::string& path) {
  return read_text_file(path, file_bytes_max).value_or("");
}

/// Returns the CPUs of a quota and its period; none when there is no limit.
std::optional<int> whole_cpus(std::string_view quota, std::string_view period) {
  const std::optional<int64_t> time = parse_integer(quota);
  const std::optional<int64_t> every = parse_integer(period);
  if (!time || !every || *time < 0 || *every <= 0) return std::nullopt;
  return static_cast<int>(std::min<int64_t>(*time / *every, std::numeric_limits<int>::max()));
}

/// "150000 100000", or "max 100000".
std::optional<int> quota_of_version_2(const std::string& folder) {
  const std::string text = text_of(folder + "/cpu.max");
  const auto words = split_words(trim(text));
  return words.size() == 2 ? whole_cpus(words[0], words[1]) : std::nullopt;
}

std::optional<int> quota_of_version_1(const std::string& folder) {
  return whole_cpus(trim(text_of(folder + "/cpu.cfs_quota_us")),
                    trim(text_of(folder + "/cpu.cfs_period_us")));
}

std::optional<int> smaller(std::optional<int> one, std::optional<int> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

/// Returns the smallest quota of the cgroup `path` and all above it. A container sees its own
/// cgroup at the mount point, whatever its path is.
template <class QuotaOf>
std::optional<int> smallest(const std::string& mount, std::string_view path, QuotaOf quota_of) {
  // A path that begins with ".." is outside of what this process sees.
  std::string below(path.starts_with("/..") ? "" : path);
  std::optional<int> least;
  while (true) {
    least = smaller(least, quota_of(mount + below));
    const size_t slash = below.rfind('/');
    if (slash == std::string::npos) return least;
    below.resize(slash);
  }
}

}  // namespace

int allowed_cpus(std::span<const pid_t> others) {
  CpuMask all = {};
  add_cpus(0, all);
  for (const pid_t process : others)
    if (process > 0) add_cpus(process, all);
  int cpus = 0;
  for (const unsigned long part : all)
    cpus += std::popcount(part);
  return std::max(cpus, 1);
}

std::optional<int> cpu_quota(const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  const std::string text = text_of(root + "/proc/self/cgroup");
  std::optional<int> least;
  for (const std::string_view line : split(text, '\n')) {
    // "0::/path" is version 2, "3:cpu,cpuacct:/path" version 1.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view path = line.substr(second + 1);
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    if (line.starts_with("0::")) {
      least = smaller(least, smallest(mounts, path, quota_of_version_2));
    } else if (std::ranges::find(controllers, "cpu") != controllers.end()) {
      least = smaller(least, smallest(mounts + "/cpu", path, quota_of_version_1));
    }
  }
  return least;
}

int usable_cpus() {
  const int allowed = allowed_cpus({});
  return std::clamp(cpu_quota().value_or(allowed), 1, allowed);
}

size_t largest_cache_bytes(const std::string& root) {
  constexpr size_t caches_max = 8;
  size_t most = 0;
  for (size_t i = 0; i < caches_max; ++i) {
    // "32768K"
    const std::string text =
        text_of(root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/size");
    std::string_view size = trim(text);
    if (!size.ends_with('K')) continue;
    size.remove_suffix(1);
    const auto kib = parse_integer(size);
    if (kib && *kib > 0) most = std::max(most, static_cast<size_t>(*kib) << 10);
  }
  return most;
}

bool ranks_share(const Cores& cores, int ranks) {
  return ranks > std::min(cores.cpus, cores.quota.value_or(cores.cpus));
}

}  // namespace dt
