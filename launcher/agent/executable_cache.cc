#include "launcher/agent/executable_cache.h"

#include "base/format.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace dt {

namespace {

constexpr std::time_t day = 86'400;  // seconds
constexpr std::time_t unused_max = 30 * day;
constexpr std::string_view executable_suffix = "/dtrain";
constexpr std::string_view retired_suffix = ".old";
constexpr std::string_view unfinished_prefix = "new.";

bool is_digest(std::string_view name) {
  return name.size() == 64 && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

struct Copy {
  std::string folder;
  std::string sha256;
};

std::optional<Copy> copy_of(std::string_view executable) {
  if (!executable.ends_with(executable_suffix)) return std::nullopt;
  executable.remove_suffix(executable_suffix.size());
  const size_t slash = executable.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Copy copy = {std::string(executable.substr(0, slash)), std::string(executable.substr(slash + 1))};
  return is_digest(copy.sha256) ? std::optional(std::move(copy)) : std::nullopt;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  // readdir(3) on a stream of our own is safe; no other thread sees it.
  while (const dirent* entry =
             entries ? readdir(entries.get()) : nullptr)  // NOLINT(concurrency-mt-unsafe)
    names.emplace_back(entry->d_name);
  return names;
}

std::optional<std::time_t> time_of(const std::string& path) {
  struct stat about = {};
  if (::lstat(path.c_str(), &about) < 0) return std::nullopt;
  return about.st_mtim.tv_sec;
}

void mark(const std::string& path, std::time_t now) {
  const timespec time = {.tv_sec = now, .tv_nsec = 0};
  const timespec times[2] = {time, time};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

/// The rules for one folder of copies at one time.
class CachePruning {
 public:
  CachePruning(Copy used, std::time_t now) : used_(std::move(used)), now_(now) {}

  void mark_use(const std::function<std::string()>& digest) const {
    const std::string file = path(used_.sha256) + std::string(executable_suffix);
    if (!older(file, day)) return;
    mark(file, now_);
    const std::string read = digest();
    if (!read.empty() && read != used_.sha256) retire(used_.sha256);
  }

  void remove_old() const {
    for (const std::string& name : names_in(used_.folder)) {
      if (is_digest(name) && name != used_.sha256 && unused(name))
        retire(name);
      else if (name.ends_with(retired_suffix))
        remove_retired(name);
    }
    for (const std::string& name : names_in(path(used_.sha256))) {
      const std::string file = format("{}/{}", path(used_.sha256), name);
      if (name.starts_with(unfinished_prefix) && older(file, day)) ::unlink(file.c_str());
    }
  }

 private:
  std::string path(std::string_view name) const { return format("{}/{}", used_.folder, name); }

  bool older(const std::string& path, std::time_t age) const {
    const auto time = time_of(path);
    return time && now_ - *time > age;
  }

  /// A folder without the file counts by its own time: a launcher may be sending the file.
  bool unused(const std::string& name) const {
    const std::string file = path(name) + std::string(executable_suffix);
    return older(time_of(file) ? file : path(name), unused_max);
  }

  void retire(const std::string& name) const {
    const std::string retired = path(name) + std::string(retired_suffix);
    if (::rename(path(name).c_str(), retired.c_str()) == 0) mark(retired, now_);
  }

  void remove_retired(const std::string& name) const {
    const bool wanted = !unused(name) || !older(path(name), day);
    std::error_code ignored;
    if (!wanted) std::filesystem::remove_all(path(name), ignored);
  }

  Copy used_;
  std::time_t now_;
};

}  // namespace

void prune_executable_cache(const std::string& executable, std::time_t now,
                            const std::function<std::string()>& digest) {
  auto used = copy_of(executable);
  if (!used) return;
  const CachePruning pruning(*std::move(used), now);
  pruning.mark_use(digest);
  pruning.remove_old();
}

}  // namespace dt
