#include "launcher/sync/store/checkout_folder.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace dt {

namespace {

constexpr std::string_view lock_suffix = ".lock";
constexpr auto age_max = std::chrono::hours(24);

/// Opened for writing: an exclusive flock(2) on NFS needs that.
Fd lock_file(const std::string& path, int create) {
  Fd lock(::open(path.c_str(), O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, 0600));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(lock) : Fd();
}

/// A program that was killed a moment ago may still end a system call that makes a file.
void remove_checkout(const std::string& path) {
  constexpr int tries_max = 5;
  bool removed = false;
  for (int tries = 0; tries < tries_max && !removed; ++tries)
    removed = remove_tree(path).has_value();
  // Without its lock, nobody would find the rest.
  if (removed) ::unlink((path + std::string(lock_suffix)).c_str());
}

bool is_old(const std::string& path, WallClock::time_point now) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  const auto changed = WallClock::from_time_t(status.st_mtim.tv_sec);
  return now - changed > age_max;
}

}  // namespace

Result<CheckoutFolder> CheckoutFolder::make(const StoreFolder& store, std::string_view job) {
  const std::string folder = TRY(store.folder("checkouts"));
  const std::string path = format("{}/{}", folder, job);
  const auto cannot = [&path](int number) {
    return fail(Errc::os, format("cannot make the folder {} for the files of --sync-from: {}",
                                 printable_path(path), errno_text(number)));
  };
  Fd lock = lock_file(path + std::string(lock_suffix), O_CREAT | O_EXCL);
  if (!lock) return cannot(errno);
  if (::mkdir(path.c_str(), 0700) != 0) return cannot(errno);
  return CheckoutFolder(path, std::move(lock));
}

CheckoutFolder::~CheckoutFolder() {
  if (!path_.empty()) remove_checkout(path_);
}

void remove_old_checkouts(const std::string& folder, WallClock::time_point now) {
  const std::string parent = folder.substr(0, folder.rfind('/'));
  const Fd opened = open_folder(AT_FDCWD, parent.c_str());
  const auto names = opened ? names_in(opened.get()) : Result<std::vector<std::string>>();
  // Leftovers cost only room: the job does not depend on it.
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string path = format("{}/{}", parent, name);
    if (!name.ends_with(lock_suffix) || !is_old(path, now) || !lock_file(path, 0)) continue;
    remove_checkout(path.substr(0, path.size() - lock_suffix.size()));
  }
}

}  // namespace dt
