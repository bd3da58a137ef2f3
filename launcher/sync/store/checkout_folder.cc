#include "launcher/sync/store/checkout_folder.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

namespace dt {

namespace {

constexpr std::string_view lock_suffix = ".lock";
constexpr auto age_max = std::chrono::hours(24);

/// A program that was killed a moment ago may still end a system call that makes a file.
bool remove_checkout(const std::string& path) {
  constexpr int tries_max = 5;
  bool removed = false;
  for (int tries = 0; tries < tries_max && !removed; ++tries)
    removed = remove_tree(path).has_value();
  // Without its lock, nobody would find the rest.
  if (removed) ::unlink((path + std::string(lock_suffix)).c_str());
  return removed;
}

/// A check-out that no launcher has, and its lock.
struct LeftCheckout {
  std::string path;
  std::string lock_path;
  Fd lock;
};

std::vector<LeftCheckout> left_in(const std::string& folder) {
  std::vector<LeftCheckout> left;
  const Fd opened = open_folder(AT_FDCWD, folder.c_str());
  const auto names = opened ? names_in(opened.get()) : Result<std::vector<std::string>>();
  // Leftovers cost only room: no job depends on them.
  if (!names) return left;
  for (const std::string& name : *names) {
    if (!name.ends_with(lock_suffix)) continue;
    const std::string lock_path = format("{}/{}", folder, name);
    Fd lock = take_free_lock(lock_path);
    if (!lock) continue;
    std::string path = lock_path.substr(0, lock_path.size() - lock_suffix.size());
    left.push_back({std::move(path), lock_path, std::move(lock)});
  }
  return left;
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
  const auto cannot = [&path](std::string_view why) {
    return fail(Errc::os, format("cannot make the folder {} for the files of --sync-from: {}",
                                 printable_path(path), why));
  };
  Result<Fd> lock = make_locked_file(path + std::string(lock_suffix));
  if (!lock) return cannot(lock.error().message);
  if (::mkdir(path.c_str(), 0700) != 0) return cannot(errno_text(errno));
  return CheckoutFolder(path, *std::move(lock));
}

CheckoutFolder::~CheckoutFolder() {
  if (!path_.empty()) remove_checkout(path_);
}

Leftovers left_checkouts(const std::string& store, LeftoverWork work) {
  Leftovers left;
  for (const LeftCheckout& checkout : left_in(store + "/checkouts")) {
    const uint64_t bytes = bytes_below(checkout.path);
    if (work == LeftoverWork::count || remove_checkout(checkout.path)) left.add(bytes);
  }
  return left;
}

void remove_old_checkouts(const std::string& folder, WallClock::time_point now) {
  for (const LeftCheckout& checkout : left_in(folder.substr(0, folder.rfind('/'))))
    if (is_old(checkout.lock_path, now)) remove_checkout(checkout.path);
}

}  // namespace dt
