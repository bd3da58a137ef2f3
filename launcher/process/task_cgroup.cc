#include "launcher/process/task_cgroup.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/process/folder_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>

namespace dt {

namespace {

constexpr std::string_view name_prefix = "dtrain-tasks-";

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<std::string> own_folder() {
  const std::string cgroups = read_text("/proc/self/cgroup");
  for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs kind = {};
    if (::statfs(mount, &kind) == 0 && kind.f_type == CGROUP2_SUPER_MAGIC) {
      return cgroup_folder(cgroups, mount);
    }
  }
  return std::nullopt;
}

std::string path_of(const std::string& folder, pid_t agent) {
  return format("{}/{}{}", folder, name_prefix, agent);
}

/// Calls `use` with the path of each folder in this one.
void for_each_folder(const std::string& folder,
                     const std::function<void(const std::string& path)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return;
  // readdir(3) on a stream of our own is safe; no other thread sees it.
  while (const dirent* entry = readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && !name.starts_with('.')) use(format("{}/{}", folder, name));
  }
}

/// Removes an empty cgroup and its parts.
void remove_cgroup(const std::string& path) {
  for_each_folder(path, [](const std::string& part) { ::rmdir(part.c_str()); });
  ::rmdir(path.c_str());
}

Result<> write_value(const std::string& path, const std::string& value) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return fail(Errc::os, format("cannot open {}: {}", path, errno_text(errno)));
  if (const Result<> written = write_all(file.get(), as_bytes(value)); !written)
    return fail(Errc::os,
                format("cannot write {} to {}: {}", value, path, written.error().message));
  return {};
}

/// Removes the cgroups of agents that were killed before they could do it.
void remove_leftovers(const std::string& folder) {
  for_each_folder(folder, [&folder](const std::string& path) {
    const bool is_ours = path.starts_with(format("{}/{}", folder, name_prefix));
    if (is_ours && lock_folder(path)) remove_cgroup(path);
  });
}

}  // namespace

std::optional<std::string> cgroup_folder(std::string_view proc_cgroup, std::string_view mount) {
  for (const std::string_view line : split(proc_cgroup, '\n')) {
    constexpr std::string_view version_2 = "0::/";
    if (!line.starts_with(version_2)) continue;
    const std::string_view path = line.substr(version_2.size() - 1);
    // The cgroup is outside the container's cgroup namespace.
    if (path.starts_with("/..")) return std::nullopt;
    return format("{}{}", mount, path == "/" ? "" : path);
  }
  return std::nullopt;
}

std::unique_ptr<TaskCgroup> TaskCgroup::make() {
  const std::optional<std::string> own = own_folder();
  if (!own) return nullptr;
  remove_leftovers(*own);
  const std::string path = path_of(*own, getpid());
  if (::mkdir(path.c_str(), 0755) < 0) return nullptr;
  std::unique_ptr<TaskCgroup> made(new TaskCgroup(path, lock_folder(path)));
  const bool can_kill = ::access((path + "/cgroup.kill").c_str(), W_OK) == 0;
  if (!made->folder_ || !can_kill) return nullptr;
  return made;
}

std::unique_ptr<TaskCgroup> TaskCgroup::adopt(pid_t agent) {
  const std::optional<std::string> own = own_folder();
  if (!own) return nullptr;
  const std::string path = path_of(*own, agent);
  std::unique_ptr<TaskCgroup> adopted(
      new TaskCgroup(path, Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))));
  return adopted->folder_ ? std::move(adopted) : nullptr;
}

TaskCgroup::~TaskCgroup() {
  // The cgroup is empty by now, unless it holds a process that even SIGKILL does not end.
  remove_cgroup(path_);
}

bool TaskCgroup::can_limit_memory() {
  const std::optional<std::string> own = own_folder();
  if (!own || ::access(own->c_str(), W_OK) != 0) return false;
  const std::string handed_on = read_text(*own + "/cgroup.subtree_control");
  const std::vector<std::string_view> controllers = split_words(handed_on);
  return std::ranges::count(controllers, "memory") > 0;
}

Result<> TaskCgroup::limit_memory(const std::vector<uint64_t>& memory_max) {
  TRY(write_value(path_ + "/cgroup.subtree_control", "+memory"));
  for (const uint64_t bytes : memory_max) {
    const std::string path = format("{}/task-{}", path_, parts_.size());
    if (::mkdir(path.c_str(), 0755) < 0)
      return fail(Errc::os, format("cannot make {}: {}", path, errno_text(errno)));
    if (bytes > 0) TRY(write_value(path + "/memory.max", format("{}", bytes)));
    parts_.emplace_back(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parts_.back())
      return fail(Errc::os, format("cannot open {}: {}", path, errno_text(errno)));
  }
  return {};
}

std::vector<int> TaskCgroup::part_fds() const {
  std::vector<int> numbers(parts_.size());
  std::ranges::transform(parts_, numbers.begin(), &Fd::get);
  return numbers;
}

bool TaskCgroup::populated() const {
  return read_text(path_ + "/cgroup.events").find("populated 1") != std::string::npos;
}

void TaskCgroup::kill() const {
  const Fd order(::openat(folder_.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  // A failure is ignored: the Sweep reports the processes that are left.
  if (order) static_cast<void>(write_all(order.get(), as_bytes("1")));
}

}  // namespace dt
