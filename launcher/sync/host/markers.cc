#include "launcher/sync/host/markers.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dt {

namespace {

namespace fs = std::filesystem;

/// Removes folders that are empty, the innermost first.
void remove_empty(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (::rmdir(folder.c_str()) < 0 && errno != ENOENT) return;
}

/// Makes a file and takes its lock. None, and errno, if that failed, or if it was removed before it
/// had the lock (ENOENT). A file system without locks goes without.
Fd make_marker(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return file;
  const bool taken = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (taken && is_at(file, path)) return file;
  errno = ENOENT;
  return {};
}

std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    paths.push_back(entry.path().native());
  return paths;
}

}  // namespace

Result<Markers> Markers::put(const std::string& folder, const std::string& job,
                             const std::string& own) {
  const std::string all_jobs = format("{}/markers", folder);
  const std::string of_job = format("{}/{}", all_jobs, job);
  const std::string path = format("{}/{}", of_job, own);
  // Another process may remove the empty folder or the file at the same time.
  constexpr int tries_max = 10;
  for (int tries = 1;; ++tries) {
    const auto made = make_folders(of_job);
    Fd file = make_marker(path);
    if (file) return Markers({of_job, all_jobs}, path, std::move(file));
    if (errno == ENOENT && tries < tries_max) continue;
    const int cause = errno;
    remove_empty({of_job, all_jobs});
    TRY(made);
    return fail_errno(format("cannot write {}", printable_path(path)), cause);
  }
}

Markers::~Markers() {
  if (own_.empty()) return;
  ::unlink(own_.c_str());
  remove_empty(folders_);
}

std::vector<std::string> Markers::all() const {
  std::vector<std::string> names;
  for (const std::string& path : paths_in(folders_.front()))
    names.push_back(path.substr(path.rfind('/') + 1));
  return names;
}

Leftovers left_markers(const std::string& folder, LeftoverWork work) {
  Leftovers left;
  const std::string all_jobs = format("{}/markers", folder);
  for (const std::string& of_job : paths_in(all_jobs)) {
    for (const std::string& path : paths_in(of_job)) {
      if (!take_free_lock(path)) continue;
      if (work == LeftoverWork::count || ::unlink(path.c_str()) == 0) left.add(0);
    }
    if (work == LeftoverWork::remove) remove_empty({of_job, all_jobs});
  }
  return left;
}

void prune_markers(const std::string& folder, WallClock::time_point now) {
  constexpr auto day = std::chrono::hours(24);
  for (const std::string& of_job : paths_in(format("{}/markers", folder))) {
    struct stat status = {};
    if (::lstat(of_job.c_str(), &status) != 0) continue;
    std::error_code failed;
    if (now - WallClock::from_time_t(status.st_mtim.tv_sec) > day) fs::remove_all(of_job, failed);
  }
}

}  // namespace dt
