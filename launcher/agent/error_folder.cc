#include "launcher/agent/error_folder.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/process/folder_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

namespace dt {

namespace {

/// Enough for a traceback of many frames; longer files are not read.
constexpr size_t error_bytes_max = size_t{64} << 10;

/// Returns when the process started, in ticks: a pid may be used again, but not with the same
/// start.
std::string start_of(pid_t process) {
  constexpr size_t stat_bytes_max = 4096;
  const auto stat = read_text_file(format("/proc/{}/stat", process), stat_bytes_max);
  if (!stat) return {};
  // The name in (…) may hold anything. After it the state is the first field, the start the 20th.
  constexpr size_t start_field = 19;
  const auto fields = split_words(std::string_view(*stat).substr(stat->rfind(')') + 1));
  return fields.size() > start_field ? std::string(fields[start_field]) : std::string();
}

/// Returns a folder in memory if there is one: an agent must not wait for a disk. In many
/// containers its files cannot be executed, as the library of line_buffer.h must be.
std::string all_folders() {
  struct statvfs memory = {};
  const bool good = ::access("/dev/shm", W_OK | X_OK) == 0 && ::statvfs("/dev/shm", &memory) == 0 &&
                    (memory.f_flag & ST_NOEXEC) == 0;
  return good ? "/dev/shm" : "/tmp";
}

Fd lock_own_folder(const std::string& path) {
  Fd folder = lock_folder(path);
  struct stat status = {};
  const bool ours = folder && ::fstat(folder.get(), &status) == 0 && status.st_uid == ::getuid();
  return ours ? std::move(folder) : Fd();
}

}  // namespace

std::string ErrorFolder::path_of(pid_t process) {
  const std::string start = start_of(process);
  if (start.empty()) return {};
  return format("{}/dtrain-{}-{}-{}", all_folders(), ::getuid(), process, start);
}

std::unique_ptr<ErrorFolder> ErrorFolder::make() {
  std::string path = path_of(::getpid());
  // Fails if the folder exists: another user may have made it.
  if (path.empty() || ::mkdir(path.c_str(), S_IRWXU) != 0) return nullptr;
  Fd locked = lock_own_folder(path);
  if (!locked) return nullptr;  // another agent took it for a leftover
  return std::unique_ptr<ErrorFolder>(new ErrorFolder(std::move(path), std::move(locked)));
}

void ErrorFolder::remove_leftovers() {
  const std::string prefix = format("dtrain-{}-", ::getuid());
  std::error_code failed;
  std::filesystem::directory_iterator at(all_folders(), failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    if (!at->path().filename().native().starts_with(prefix)) continue;
    if (lock_own_folder(at->path())) remove(at->path());
  }
}

void ErrorFolder::remove(const std::string& path) {
  std::error_code ignored;  // files that we cannot remove are not ours
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

ErrorFolder::~ErrorFolder() {
  if (::rmdir(path_.c_str()) != 0) remove(path_);
}

std::string ErrorFolder::file_of(uint32_t local_index) const {
  return format("{}/{}.json", path_, local_index);
}

void ErrorFolder::clear(uint32_t local_index) const {
  ::unlink(file_of(local_index).c_str());
}

std::optional<TaskError> ErrorFolder::read(uint32_t local_index) const {
  // The task may have put anything there: the open must not block or follow a link.
  const Fd file(
      ::open(file_of(local_index).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto text = read_text(file.get(), error_bytes_max);
  if (!text) return std::nullopt;
  const int64_t written_ns =
      int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return parse_task_error(*text, written_ns);
}

}  // namespace dt
