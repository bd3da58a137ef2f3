#include "launcher/sync/setup/setup_lock.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace dt {
namespace {

constexpr size_t job_bytes_max = 256;

Result<bool> set_lock(int fd, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return fail_errno("cannot lock it");
}

}  // namespace

Result<SetupLock> SetupLock::open(const std::string& path) {
  constexpr mode_t ours_alone = 0600;
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, ours_alone));
  if (!file) return fail_errno(format("cannot open {}", shell_quote(printable(path))));
  return SetupLock(path, std::move(file));
}

bool SetupLock::is_current() const {
  struct stat ours = {};
  struct stat there = {};
  return ::fstat(file_.get(), &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

Result<bool> SetupLock::try_take(Kind kind) {
  const auto taken = set_lock(file_.get(), kind == Kind::alone ? F_WRLCK : F_RDLCK);
  if (!taken) return fail(taken.error().code, format("{}: {}", path_, taken.error().message));
  return *taken && is_current();
}

bool SetupLock::is_free() const {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

Result<> SetupLock::share() {
  const bool shared = TRY(try_take(Kind::shared));
  if (!shared) return fail(Errc::os, format("{} was removed during the setup", path_));
  return {};
}

void SetupLock::note_use() const {
  // Without it, the setup only seems older than it is.
  (void)::futimens(file_.get(), nullptr);
}

Result<> SetupLock::write_job(const std::string& job) {
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0)
    return fail_errno(format("cannot write {}", path_));
  return write_all(file_.get(), as_bytes(job));
}

std::string SetupLock::job() const {
  std::string text(job_bytes_max, '\0');
  const ssize_t n = ::pread(file_.get(), text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return text;
}

Result<HeldSetup> take_setup_lock(const std::string& path, const SetupWait& wait) {
  constexpr Duration between_tries = milliseconds(100);
  using Kind = SetupLock::Kind;
  const std::unique_ptr<Loop> loop = TRY(Loop::create());
  const Time deadline = loop->now() + wait.timeout;
  bool waited = false;
  while (true) {
    // Opened again each time: `dtrain cache clear` may have removed the file.
    SetupLock lock = TRY(SetupLock::open(path));
    const bool alone = TRY(lock.try_take(Kind::alone));
    if (alone) return HeldSetup{.lock = std::move(lock), .kind = Kind::alone};
    if (wait.or_shared) {
      const bool shared = TRY(lock.try_take(Kind::shared));
      if (shared) return HeldSetup{.lock = std::move(lock), .kind = Kind::shared};
    }
    if (loop->now() >= deadline) {
      return fail(Errc::timeout,
                  format("another job has used {} for {}", path, duration_text(wait.timeout)));
    }
    if (!waited && wait.on_wait) wait.on_wait(lock.job());
    waited = true;
    // The kernel has no call that waits for such a lock until a deadline.
    TRY(loop->run_once(std::min(deadline, loop->now() + between_tries)));
  }
}

}  // namespace dt
