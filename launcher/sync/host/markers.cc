#include "launcher/sync/host/markers.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

namespace dt {

Result<Markers> Markers::put(const std::string& folder, const std::string& job,
                             const std::string& own) {
  const std::string all_jobs = format("{}/markers", folder);
  const std::string of_job = format("{}/{}", all_jobs, job);
  const std::string path = format("{}/{}", of_job, own);
  // Another job may remove the empty folder at the same time.
  constexpr int tries_max = 10;
  for (int tries = 1;; ++tries) {
    const auto made = make_folders(of_job);
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file) return Markers({of_job, all_jobs}, path);
    if (errno == ENOENT && tries < tries_max) continue;
    TRY(made);
    return fail_errno(format("cannot write {}", shell_quote(printable(path))));
  }
}

Markers::~Markers() {
  if (own_.empty()) return;
  ::unlink(own_.c_str());
  for (const std::string& folder : folders_)
    if (::rmdir(folder.c_str()) < 0) return;
}

std::vector<std::string> Markers::all() const {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folders_.front(), failed))
    names.push_back(entry.path().filename().native());
  return names;
}

void prune_markers(const std::string& folder, WallClock::time_point now) {
  constexpr auto day = std::chrono::hours(24);
  std::error_code failed;
  std::vector<std::filesystem::path> old;
  for (const auto& entry :
       std::filesystem::directory_iterator(format("{}/markers", folder), failed)) {
    struct stat status = {};
    if (::lstat(entry.path().c_str(), &status) != 0) continue;
    if (now - WallClock::from_time_t(status.st_mtim.tv_sec) > day) old.push_back(entry.path());
  }
  for (const std::filesystem::path& of_job : old)
    std::filesystem::remove_all(of_job, failed);
}

}  // namespace dt
