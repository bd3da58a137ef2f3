#include "launcher/sync/store/kept_trees.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/object_store.h"
#include "launcher/sync/store/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

namespace dt {

namespace {

/// A start that was killed before it made a tree leaves only its folder. On some network file
/// systems, a new start of another host seems to have no lock either.
constexpr auto unfinished_age = std::chrono::hours(24);

WallClock::time_point time_of(const struct stat& status) {
  return WallClock::time_point(std::chrono::duration_cast<WallClock::duration>(
      std::chrono::nanoseconds(facts_of(status).mtime_ns)));
}

bool status_of(const std::string& path, struct stat& status) {
  return ::lstat(path.c_str(), &status) == 0;
}

/// Returns the size that the job has noted, or else counts it.
uint64_t size_of(const SitePlace& place) {
  const Result<std::string> noted = read_text_file(place.own + std::string(site_files::left), 64);
  if (noted) {
    if (const auto bytes = parse_integer(trim(*noted)); bytes && *bytes >= 0)
      return static_cast<uint64_t>(*bytes);
  }
  return bytes_below(place.root);
}

/// The newest of the times at which the job took its lock, and at which it left the tree.
WallClock::time_point last_use_of(const SitePlace& place) {
  WallClock::time_point last;
  struct stat status = {};
  for (const std::string& path : {place.own + "/" + std::string(TreeLock::file_name),
                                  place.own + std::string(site_files::left)}) {
    if (status_of(path, status)) last = std::max(last, time_of(status));
  }
  if (last == WallClock::time_point() && status_of(place.own, status)) last = time_of(status);
  return last;
}

/// One place below "trees", and whether it has a whole tree.
struct FoundPlace {
  SitePlace place;
  WallClock::time_point last_use;
  bool whole = false;
};

std::vector<FoundPlace> places_below(const std::string& store) {
  std::vector<FoundPlace> places;
  const std::string trees = store + "/trees";
  const Fd folder = open_folder(AT_FDCWD, trees.c_str());
  if (!folder) return places;
  const Result<std::vector<std::string>> names = names_in(folder.get());
  if (!names) return places;
  for (const std::string& name : *names) {
    if (!name.ends_with(own_suffix)) continue;
    FoundPlace found;
    found.place.own = format("{}/{}", trees, name);
    found.place.root = found.place.own.substr(0, found.place.own.size() - own_suffix.size());
    found.last_use = last_use_of(found.place);
    struct stat status = {};
    found.whole = status_of(found.place.root, status) && S_ISDIR(status.st_mode);
    places.push_back(std::move(found));
  }
  std::ranges::sort(places, {}, &FoundPlace::last_use);
  return places;
}

/// Takes the lock of a place that its job has left.
std::optional<TreeLock> take_left(const FoundPlace& found, WallClock::time_point now) {
  const std::string& own = found.place.own;
  struct stat lock_file = {};
  if (found.whole || status_of(own + "/" + std::string(TreeLock::file_name), lock_file))
    return TreeLock::take_if_free(own);
  if (now - found.last_use < unfinished_age) return std::nullopt;
  Result<TreeLock> lock = TreeLock::take({.folder = own, .job = "that removes it", .what = own});
  if (!lock) return std::nullopt;
  return *std::move(lock);
}

}  // namespace

Result<> remove_site(const SitePlace& place, TreeLock& lock) {
  const std::string old = place.own + std::string(site_files::old);
  TRY(remove_tree(old));
  // A kill from here on leaves no half of a tree under its name.
  if (std::rename(place.root.c_str(), old.c_str()) != 0 && errno != ENOENT) {
    return fail(Errc::os,
                format("cannot remove {}: {}", printable_path(place.root), errno_text(errno)));
  }
  const Fd own = open_folder(AT_FDCWD, place.own.c_str());
  if (!own) return {};
  for (const std::string& name : TRY(names_in(own.get()))) {
    if (name != TreeLock::file_name) TRY(remove_tree(format("{}/{}", place.own, name)));
  }
  // On NFS, an open file that is removed keeps its folder.
  lock.release();
  return remove_tree(place.own);
}

Result<> write_left_size(const SitePlace& place, uint64_t bytes) {
  const std::string path = place.own + std::string(site_files::left);
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno(format("cannot write {}", printable_path(path)));
  return write_all(file.get(), as_bytes(format("{}\n", bytes)));
}

std::vector<KeptTree> list_kept_trees(const std::string& store) {
  std::vector<KeptTree> trees;
  for (const FoundPlace& found : places_below(store)) {
    if (!found.whole) continue;
    trees.push_back({.path = found.place.root,
                     .bytes = size_of(found.place),
                     .last_use = found.last_use,
                     .in_use = !TreeLock::take_if_free(found.place.own)});
  }
  return trees;
}

void prune_trees(const std::string& store, WallClock::time_point now, const TreeBounds& bounds) {
  struct Left {
    FoundPlace found;
    TreeLock lock;
    uint64_t bytes = 0;
  };
  std::vector<Left> trees;
  uint64_t bytes = 0;
  for (FoundPlace& found : places_below(store)) {
    if (!found.whole && now - found.last_use < unfinished_age) continue;
    std::optional<TreeLock> lock = take_left(found, now);
    if (!lock) continue;
    const uint64_t size = found.whole ? size_of(found.place) : 0;
    bytes += size;
    trees.push_back({std::move(found), *std::move(lock), size});
  }
  for (Left& tree : trees) {
    const bool old = now - tree.found.last_use > bounds.age;
    if (tree.found.whole && !old && bytes <= bounds.bytes) continue;
    // A tree that cannot be removed, such as one with files of root, stays.
    if (remove_site(tree.found.place, tree.lock)) bytes -= tree.bytes;
  }
}

Result<ClearedTrees> clear_trees(const std::string& store) {
  ClearedTrees cleared;
  for (const FoundPlace& found : places_below(store)) {
    if (!found.whole) continue;
    std::optional<TreeLock> lock = TreeLock::take_if_free(found.place.own);
    if (!lock) {
      ++cleared.in_use;
      continue;
    }
    const uint64_t size = size_of(found.place);
    TRY(remove_site(found.place, *lock));
    ++cleared.trees;
    cleared.bytes += size;
  }
  return cleared;
}

Leftovers unfinished_trees(const std::string& store, LeftoverWork work, WallClock::time_point now) {
  Leftovers left;
  for (const FoundPlace& found : places_below(store)) {
    if (found.whole) continue;
    std::optional<TreeLock> lock = take_left(found, now);
    if (!lock) continue;
    const uint64_t bytes = bytes_below(found.place.own);
    if (work == LeftoverWork::count || remove_site(found.place, *lock)) left.add(bytes);
  }
  return left;
}

}  // namespace dt
