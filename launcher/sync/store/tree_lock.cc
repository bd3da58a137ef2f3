#include "launcher/sync/store/tree_lock.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace dt {

namespace {

constexpr size_t holder_bytes_max = 512;

std::string own_host_name() {
  std::array<char, 256> name = {};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Opened for writing: an exclusive flock(2) on NFS needs that.
Fd open_lock(const std::string& path, int create) {
  return Fd(::open(path.c_str(), O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, 0600));
}

tl::unexpected<Error> refuse(int file, const TreeLock::Request& request) {
  const Result<std::string> text = read_text(file, holder_bytes_max);
  const std::string holder = text && !text->empty() ? printable(trim(*text)) : "another job";
  return fail(Errc::refused, format("{} is in use by {}; wait for its end, or give this job "
                                    "another --sync-to",
                                    printable_path(request.what), holder));
}

}  // namespace

Result<TreeLock> TreeLock::take(const Request& request) {
  const std::string path = format("{}/{}", request.folder, file_name);
  const auto cannot = [&](int number) {
    return fail(Errc::os,
                format("cannot lock {} for this job ({}): {}", printable_path(request.what),
                       printable_path(path), errno_text(number)));
  };
  TreeLock lock;
  lock.file_ = open_lock(path, O_CREAT);
  if (!lock.file_) return cannot(errno);
  if (::flock(lock.file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return refuse(lock.file_.get(), request);
    return cannot(errno);
  }
  const std::string holder = format("job {} on {}\n", request.job, own_host_name());
  if (::ftruncate(lock.file_.get(), 0) != 0) return cannot(errno);
  const Result<> written = write_all(lock.file_.get(), as_bytes(holder));
  // A full disk costs only the holder's name in the error of another job.
  static_cast<void>(written);
  return lock;
}

std::optional<TreeLock> TreeLock::take_if_free(const std::string& folder) {
  TreeLock lock;
  lock.file_ = open_lock(format("{}/{}", folder, file_name), 0);
  if (!lock.file_ || ::flock(lock.file_.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return lock;
}

}  // namespace dt
