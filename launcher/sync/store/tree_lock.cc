#include "launcher/sync/store/tree_lock.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/file.h"
#include "base/io/network.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dt {

namespace {

constexpr size_t holder_bytes_max = 512;

std::string lock_path(std::string_view folder) {
  return format("{}/{}", folder, TreeLock::file_name);
}

tl::unexpected<Error> cannot_lock(const TreeLock::Request& request, std::string_view why) {
  return fail(Errc::os, format("cannot lock {} for this job ({}): {}", printable_path(request.what),
                               printable_path(lock_path(request.folder)), why));
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
  TreeLock lock;
  // Opened for writing: an exclusive flock(2) on NFS needs that.
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
  lock.file_ = Fd(::open(lock_path(request.folder).c_str(), flags, 0600));
  if (!lock.file_) return cannot_lock(request, errno_text(errno));
  if (::flock(lock.file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return refuse(lock.file_.get(), request);
    return cannot_lock(request, errno_text(errno));
  }
  TRY(lock.write_holder(request));
  return lock;
}

Result<TreeLock> TreeLock::make(const Request& request) {
  TreeLock lock;
  Result<Fd> made = make_locked_file(lock_path(request.folder));
  if (!made && made.error().code == Errc::refused) return take(request);
  if (!made) return cannot_lock(request, made.error().message);
  lock.file_ = *std::move(made);
  TRY(lock.write_holder(request));
  return lock;
}

Result<> TreeLock::write_holder(const Request& request) {
  const std::string holder = format("job {} on {}\n", request.job, own_host_name());
  if (::ftruncate(file_.get(), 0) != 0) return cannot_lock(request, errno_text(errno));
  const Result<> written = write_all(file_.get(), as_bytes(holder));
  // A full disk costs only the holder's name in the error of another job.
  static_cast<void>(written);
  return {};
}

std::optional<TreeLock> TreeLock::take_if_free(const std::string& folder) {
  TreeLock lock;
  lock.file_ = take_free_lock(lock_path(folder));
  if (!lock.file_) return std::nullopt;
  return lock;
}

}  // namespace dt
