#include "base/io/atomic_file.h"

#include "base/crypto.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace dt {

namespace {

tl::unexpected<Error> last_error() {
  return fail(Errc::os, errno_text(errno));
}

/// Makes the new name of a file permanent.
Result<> sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return last_error();
  return {};
}

constexpr std::string_view draft_mark = ".unfinished-";

void remove_if_abandoned(const std::string& draft) {
  const Fd file(::open(draft.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(draft.c_str());
}

}  // namespace

void remove_abandoned_drafts(const std::string& beginning, std::string_view end) {
  const std::filesystem::path path(beginning);
  const std::string first = path.filename().string();
  std::error_code ended;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (std::filesystem::directory_iterator at(folder, ended), last; !ended && at != last;
       at.increment(ended)) {
    const std::string name = at->path().filename().string();
    const size_t mark = name.rfind(draft_mark);
    if (mark == std::string::npos || !name.starts_with(first)) continue;
    if (std::string_view(name).substr(0, mark).ends_with(end))
      remove_if_abandoned(at->path().string());
  }
}

AtomicFile::AtomicFile(std::string path, std::string draft, Fd file)
    : path_(std::move(path)), draft_(std::move(draft)), file_(std::move(file)) {
}

Result<AtomicFile> AtomicFile::create(std::string path) {
  remove_abandoned_drafts(path, std::filesystem::path(path).filename().string());
  while (true) {
    const std::string suffix = TRY(random_name(4));
    std::string draft = path;
    draft += draft_mark;
    draft += suffix;
    Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) return last_error();
    // Another process may take it for abandoned before it is locked.
    static_cast<void>(::flock(file.get(), LOCK_EX | LOCK_NB));
    struct stat status = {};
    if (::fstat(file.get(), &status) != 0) return last_error();
    if (status.st_nlink > 0) return AtomicFile(std::move(path), std::move(draft), std::move(file));
  }
}

AtomicFile::~AtomicFile() {
  if (file_) ::unlink(draft_.c_str());
}

Result<> AtomicFile::write(ByteSpan bytes) const {
  return write_all(file_.get(), bytes);
}

Result<> AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) return last_error();
  TRY(commit_without_sync());
  return sync_folder_of(path_);
}

Result<> AtomicFile::commit_without_sync() {
  if (std::rename(draft_.c_str(), path_.c_str()) != 0) return last_error();
  file_.reset();
  return {};
}

}  // namespace dt
