#include "launcher/kept/job_folder.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

namespace dt {
namespace {

namespace fs = std::filesystem;

/// A name "mnist-3" in its parts.
struct JobName {
  std::string_view name;
  int64_t number = 0;
};

std::optional<JobName> parse_job_id(std::string_view id) {
  const size_t dash = id.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = id.substr(dash + 1);
  const std::optional<int64_t> number = parse_integer(digits);
  if (!number || *number < 1 || digits.front() == '0' || digits.front() == '-') return std::nullopt;
  if (id.find('/') != std::string_view::npos || id.front() == '.') return std::nullopt;
  return JobName{.name = id.substr(0, dash), .number = *number};
}

std::vector<std::string> ids_in(const std::string& root) {
  std::vector<std::string> ids;
  std::error_code ended;
  for (fs::directory_iterator at(root, ended), last; !ended && at != last; at.increment(ended)) {
    std::string id = at->path().filename().string();
    if (parse_job_id(id)) ids.push_back(std::move(id));
  }
  return ids;
}

struct flock lock_of(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<std::string> jobs_root(const Environment& environment) {
  const auto folder = [&environment](const std::string& name) {
    const auto found = environment.find(name);
    const bool is_absolute = found != environment.end() && found->second.starts_with('/');
    return is_absolute ? found->second : "";
  };
  const std::string state = folder("XDG_STATE_HOME");
  if (!state.empty()) return state + "/dtrain/jobs";
  const std::string home = folder("HOME");
  if (!home.empty()) return home + "/.local/state/dtrain/jobs";
  return fail(Errc::input,
              "jobs are kept in ~/.local/state/dtrain/jobs, but HOME is not set; set it, or "
              "XDG_STATE_HOME");
}

Result<JobFolder> make_job_folder(const std::string& root, const std::string& name) {
  if (const auto made = make_folders(root); !made)
    return fail(Errc::os, format("cannot make {}: {}", printable(root), made.error().message));
  int64_t number = 1;
  for (const std::string& id : ids_in(root)) {
    const auto other = parse_job_id(id);
    if (other->name == name) number = std::max(number, other->number + 1);
  }
  for (;; ++number) {
    JobFolder folder = {.id = format("{}-{}", name, number), .path = {}};
    folder.path = root + "/" + folder.id;
    if (::mkdir(folder.path.c_str(), S_IRWXU) == 0) return folder;
    // Another job of this name may begin at this moment.
    if (errno != EEXIST)
      return fail(Errc::os,
                  format("cannot make {}: {}", printable(folder.path), errno_text(errno)));
  }
}

std::vector<JobFolder> job_folders(const std::string& root) {
  /// job.toml is written once, when the job begins.
  using Age = std::tuple<time_t, long, int64_t>;
  std::vector<std::pair<Age, JobFolder>> all;
  for (const std::string& id : ids_in(root)) {
    JobFolder folder = {.id = id, .path = format("{}/{}", root, id)};
    struct stat about = {};
    if (::stat(folder.file("job.toml").c_str(), &about) < 0 &&
        ::stat(folder.path.c_str(), &about) < 0) {
      continue;
    }
    folder.began_s = about.st_mtim.tv_sec;
    const Age age = {about.st_mtim.tv_sec, about.st_mtim.tv_nsec, parse_job_id(id)->number};
    all.emplace_back(age, std::move(folder));
  }
  std::ranges::sort(all, std::greater(), [](const auto& one) { return one.first; });
  std::vector<JobFolder> folders;
  for (auto& [age, folder] : all)
    folders.push_back(std::move(folder));
  return folders;
}

Result<JobFolder> find_job(const std::string& root, const std::string& id) {
  std::vector<JobFolder> folders = job_folders(root);
  if (folders.empty()) {
    return fail(Errc::input,
                format("there is no job in {}; start one: dtrain job run FILE", printable(root)));
  }
  if (id.empty()) return std::move(folders.front());
  const auto found = std::ranges::find(folders, id, &JobFolder::id);
  if (found != folders.end()) return std::move(*found);
  std::vector<std::string> ids;
  std::ranges::transform(folders, std::back_inserter(ids), &JobFolder::id);
  const auto guess = nearest(id, ids);
  return fail(Errc::input, format("there is no job \"{}\"; {}", printable(id),
                                  guess ? format("did you mean {}?", *guess)
                                        : "dtrain job list names those that there are"));
}

Result<> remove_job_folder(const JobFolder& folder) {
  std::error_code why;
  fs::remove_all(folder.path, why);
  if (!why) return {};
  return fail(Errc::os, format("cannot remove {}: {}", printable(folder.path), why.message()));
}

Result<Fd> lock_job(const JobFolder& folder) {
  Fd file(::open(folder.file("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct flock lock = lock_of(F_WRLCK);
  if (!file || ::fcntl(file.get(), F_SETLK, &lock) < 0)
    return fail_errno(format("cannot lock {}", printable(folder.file("lock"))));
  return file;
}

std::optional<pid_t> job_holder(const JobFolder& folder) {
  const Fd file(::open(folder.file("lock").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = lock_of(F_WRLCK);
  if (!file || ::fcntl(file.get(), F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
    return std::nullopt;
  return lock.l_pid;
}

}  // namespace dt
