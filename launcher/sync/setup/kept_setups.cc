#include "launcher/sync/setup/kept_setups.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/setup/setup_lock.h"
#include "launcher/sync/setup/setup_place.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace dt {
namespace {

/// One lock below a store, and the setup beside it.
struct FoundSetup {
  SetupPaths paths;
  WallClock::time_point last_use;
  bool has_folder = false;
};

std::vector<FoundSetup> setups_below(const std::string& store) {
  constexpr std::string_view lock_suffix = ".lock";
  std::vector<FoundSetup> setups;
  const Fd folder = open_folder(AT_FDCWD, setups_folder(store).c_str());
  if (!folder) return setups;
  const Result<std::vector<std::string>> names = names_in(folder.get());
  if (!names) return setups;
  for (const std::string& name : *names) {
    if (!name.ends_with(lock_suffix)) continue;
    FoundSetup found;
    found.paths = setup_paths(store, name.substr(0, name.size() - lock_suffix.size()));
    struct stat status = {};
    if (::lstat(found.paths.lock.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    found.last_use = WallClock::time_point(std::chrono::duration_cast<WallClock::duration>(
        std::chrono::nanoseconds(facts_of(status).mtime_ns)));
    found.has_folder = ::lstat(found.paths.folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    setups.push_back(std::move(found));
  }
  std::ranges::sort(setups, {}, &FoundSetup::last_use);
  return setups;
}

Result<> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail_errno(format("cannot remove {}", path));
}

/// Removes a setup and its lock. Returns false where a running job has it.
Result<bool> remove_setup(const FoundSetup& found) {
  SetupLock lock = TRY(SetupLock::open(found.paths.lock));
  const bool ours = TRY(lock.try_take(SetupLock::Kind::alone));
  if (!ours) return false;
  // The record goes first: a kill from here on leaves none of a folder that is not whole.
  TRY(remove_file(found.paths.record));
  TRY(remove_tree(found.paths.folder));
  TRY(remove_file(found.paths.lock));
  return true;
}

/// Drafts of records. A process that lives has a lock on its draft.
Leftovers abandoned_records(const std::string& store, LeftoverWork work) {
  Leftovers left;
  const Fd folder = open_folder(AT_FDCWD, setups_folder(store).c_str());
  const auto names = folder ? names_in(folder.get()) : Result<std::vector<std::string>>();
  if (!names) return left;
  for (const std::string& name : *names) {
    if (name.find(".done.") == std::string::npos) continue;
    const std::string path = format("{}/{}", setups_folder(store), name);
    if (!take_free_lock(path)) continue;
    if (work == LeftoverWork::count || ::unlink(path.c_str()) == 0) left.add(0);
  }
  return left;
}

bool has_users(const FoundSetup& found) {
  const Result<SetupLock> lock = SetupLock::open(found.paths.lock);
  return !lock || !lock->is_free();
}

}  // namespace

std::vector<KeptSetup> list_kept_setups(const std::string& store) {
  std::vector<KeptSetup> setups;
  for (const FoundSetup& found : setups_below(store)) {
    if (!found.has_folder) continue;
    setups.push_back({.path = found.paths.folder,
                      .bytes = bytes_below(found.paths.folder),
                      .last_use = found.last_use,
                      .in_use = has_users(found)});
  }
  return setups;
}

Result<ClearedSetups> clear_setups(const std::string& store) {
  ClearedSetups cleared;
  for (const FoundSetup& found : setups_below(store)) {
    if (!found.has_folder) continue;
    const uint64_t bytes = bytes_below(found.paths.folder);
    const bool removed = TRY(remove_setup(found));
    cleared.in_use += removed ? 0 : 1;
    cleared.setups += removed ? 1 : 0;
    cleared.bytes += removed ? bytes : 0;
  }
  return cleared;
}

Leftovers unfinished_setups(const std::string& store, LeftoverWork work) {
  Leftovers left;
  for (const FoundSetup& found : setups_below(store)) {
    if (found.has_folder) continue;
    const bool is_left =
        work == LeftoverWork::count ? !has_users(found) : remove_setup(found).value_or(false);
    if (is_left) left.add(0);
  }
  left.add(abandoned_records(store, work));
  return left;
}

void prune_setups(const std::string& store, WallClock::time_point now, std::chrono::hours unused) {
  for (const FoundSetup& found : setups_below(store)) {
    // The next job tries again what could not be removed.
    if (now - found.last_use > unused) (void)remove_setup(found);
  }
}

}  // namespace dt
