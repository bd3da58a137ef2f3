#include "comm/memory/available_memory.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <algorithm>
#include <string_view>

namespace dt {

namespace {

constexpr size_t statistics_bytes_max = 64 << 10;

/// The files of one version of cgroups.
struct CgroupFiles {
  std::string_view limit;
  std::string_view used;
  std::string_view prefix;  ///< of the totals in memory.stat, which include the groups below
};
constexpr CgroupFiles version_1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_"};
constexpr CgroupFiles version_2 = {"/memory.max", "/memory.current", ""};

std::string content_of(const std::string& path) {
  return read_text_file(path, statistics_bytes_max).value_or("");
}

std::optional<uint64_t> bytes_in(std::string_view text) {
  const std::optional<int64_t> number = parse_integer(trim(text));  // "max" is no number
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

/// Returns the number behind a name at the beginning of a line.
std::optional<uint64_t> field(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() >= 2 && words[0] == name) return bytes_in(words[1]);
  }
  return std::nullopt;
}

std::optional<uint64_t> lesser(std::optional<uint64_t> one, std::optional<uint64_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

/// Returns the bytes that one cgroup has left; none without a limit.
std::optional<uint64_t> left_in(const std::string& folder, const CgroupFiles& files) {
  const auto limit = bytes_in(content_of(folder + std::string(files.limit)));
  const auto used = bytes_in(content_of(folder + std::string(files.used)));
  if (!limit || !used) return std::nullopt;
  const std::string statistics = content_of(folder + "/memory.stat");
  uint64_t droppable = 0;
  for (const std::string_view list : {"inactive_file", "active_file"})
    droppable += field(statistics, std::string(files.prefix).append(list)).value_or(0);
  const uint64_t kept = *used - std::min(*used, droppable);
  return *limit - std::min(*limit, kept);
}

/// Returns the least that is left in the cgroup `path` and all above it. A container sees its own
/// cgroup at the mount point, whatever its path is.
std::optional<uint64_t> least_left(const std::string& mount, std::string_view path,
                                   const CgroupFiles& files) {
  // A path that begins with ".." is outside of what this process sees.
  std::string below(path.starts_with("/..") ? "" : path);
  std::optional<uint64_t> least;
  while (true) {
    least = lesser(least, left_in(mount + below, files));
    const size_t slash = below.rfind('/');
    if (slash == std::string::npos) return least;
    below.resize(slash);
  }
}

}  // namespace

std::optional<uint64_t> available_memory(const std::string& root) {
  std::optional<uint64_t> least = field(content_of(root + "/proc/meminfo"), "MemAvailable:");
  if (least) least = *least << 10;
  const std::string mounts = root + "/sys/fs/cgroup";
  const std::string groups = content_of(root + "/proc/self/cgroup");
  for (const std::string_view line : split(groups, '\n')) {
    // "0::/path" is version 2, "3:memory:/path" version 1.
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    if (line.starts_with("0::")) least = lesser(least, least_left(mounts, parts[2], version_2));
    if (parts[1] == "memory")
      least = lesser(least, least_left(mounts + "/memory", parts[2], version_1));
  }
  return least;
}

tl::unexpected<Error> too_little_memory(std::string_view what, size_t wanted,
                                        std::optional<uint64_t> available) {
  const std::string have =
      available ? format("{} KiB are available", *available >> 10) : "the kernel has no more";
  return fail(
      Errc::os,
      format("cannot allocate {} KiB of {}: {}; free memory, or raise the memory limit of the job",
             (wanted + 1023) >> 10, what, have));
}

}  // namespace dt
