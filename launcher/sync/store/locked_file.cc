#include "launcher/sync/store/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace dt {

namespace {

/// Opened for writing: an exclusive flock(2) on NFS needs that.
constexpr int lock_flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

Result<Fd> make_locked_file(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return fail(Errc::refused, errno_text(EEXIST));
  const std::string draft = path + ".new";
  Fd file(::open(draft.c_str(), lock_flags | O_CREAT, 0600));
  if (!file) return fail(Errc::os, errno_text(errno));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && std::rename(draft.c_str(), path.c_str()) == 0)
    return file;
  const int cause = errno;
  ::unlink(draft.c_str());
  return fail(Errc::os, errno_text(cause));
}

Fd take_free_lock(const std::string& path) {
  Fd file(::open(path.c_str(), lock_flags));
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_at(file, path)) return file;
  return {};
}

bool is_at(const Fd& file, const std::string& path) {
  struct stat named = {};
  struct stat opened = {};
  return file && ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

}  // namespace dt
