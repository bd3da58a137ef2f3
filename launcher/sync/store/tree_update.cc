#include "launcher/sync/store/tree_update.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/tree_staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

namespace {

using Kind = TreeEntry::Kind;

/// Removes a folder that is empty, or that has only Python's cache.
void remove_emptied(const WalkedName& at) {
  if (::unlinkat(at.folder, at.name, AT_REMOVEDIR) == 0) return;
  const Fd folder = open_folder(at.folder, at.name);
  if (!folder) return;
  const Result<std::vector<std::string>> names = names_in(folder.get());
  if (names && names->size() == 1 && names->front() == "__pycache__")
    remove_empty_folder(at.folder, at.name);
}

class TreeUpdate {
 public:
  TreeUpdate(const UpdateFolders& folders, const Manifest& manifest, TreeChanges changes)
      : folders_(folders), manifest_(manifest), changes_(std::move(changes)) {}

  Result<TreeIndex> run();

 private:
  Result<> remove(const std::vector<std::string>& paths);
  void remove_folders();
  Result<> clear_folders();
  Result<> put(size_t number, FolderWalk& walk, TreeIndex& placed);
  Result<> keep_folders();
  tl::unexpected<Error> cannot(std::string_view path, std::string_view why) const {
    return fail(Errc::os,
                format("cannot put {} into {}: {}; what is there is part of the new tree, "
                       "which the next job completes",
                       printable(path), printable_path(folders_.shown), why));
  }

  const UpdateFolders& folders_;
  const Manifest& manifest_;
  TreeChanges changes_;
};

Result<TreeIndex> TreeUpdate::run() {
  TRY(remove(changes_.blocks));
  TRY(remove(changes_.remove));
  remove_folders();
  TRY(clear_folders());
  TreeIndex placed;
  FolderWalk walk(folders_.root);
  for (const size_t number : changes_.put)
    TRY(put(number, walk, placed));
  TRY(keep_folders());
  return merged(std::move(changes_.in_place), placed);
}

Result<> TreeUpdate::remove(const std::vector<std::string>& paths) {
  FolderWalk walk(folders_.root);
  for (const std::string& path : paths) {
    const Result<WalkedName> at = walk.enter(path);
    if (!at) continue;  // below a link or file that went before
    if (::unlinkat(at->folder, at->name, 0) != 0 && errno != ENOENT)
      return cannot(path, errno_text(errno));
  }
  return {};
}

/// Removes folders that have become empty by removals, the deepest first.
void TreeUpdate::remove_folders() {
  std::set<std::string, std::greater<>> paths(changes_.folders.begin(), changes_.folders.end());
  for (const auto* removed : {&changes_.remove, &changes_.folders}) {
    for (const std::string& path : *removed) {
      for (size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
           slash = path.rfind('/', slash - 1))
        paths.insert(path.substr(0, slash));
    }
  }
  for (const std::string& path : paths) {
    FolderWalk walk(folders_.root);
    const Result<WalkedName> at = walk.enter(path);
    if (at) remove_emptied(*at);
  }
}

Result<> TreeUpdate::clear_folders() {
  FolderWalk walk(folders_.root);
  for (const std::string& path : changes_.clear) {
    const Result<WalkedName> at = walk.enter(path);
    if (!at) continue;
    if (!remove_empty_folder(at->folder, at->name)) return cannot(path, "a folder is there");
  }
  return {};
}

Result<> TreeUpdate::put(size_t number, FolderWalk& walk, TreeIndex& placed) {
  const TreeEntry& entry = manifest_.entries[number];
  const Result<WalkedName> at = walk.make(entry.path);
  if (!at) return cannot(entry.path, at.error().message);
  placed.placed.push_back({.entry = entry, .facts = {}});
  if (entry.kind == Kind::folder) {
    if (::mkdirat(at->folder, at->name, 0777) != 0 && errno != EEXIST)
      return cannot(entry.path, errno_text(errno));
    return {};
  }
  const std::string name = staged_name(number);
  if (::renameat(folders_.staging, name.c_str(), at->folder, at->name) != 0)
    return cannot(entry.path, errno_text(errno));
  if (entry.kind == Kind::link) return {};
  struct stat status = {};
  if (::fstatat(at->folder, at->name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return cannot(entry.path, errno_text(errno));
  placed.placed.back().facts = facts_of(status);
  return {};
}

/// Makes empty folders again which lost their last file.
Result<> TreeUpdate::keep_folders() {
  if (changes_.remove.empty() && changes_.folders.empty()) return {};
  FolderWalk walk(folders_.root);
  for (const TreeEntry& entry : manifest_.entries) {
    if (entry.kind != Kind::folder) continue;
    const Result<WalkedName> at = walk.make(entry.path);
    if (!at) return cannot(entry.path, at.error().message);
    if (::mkdirat(at->folder, at->name, 0777) != 0 && errno != EEXIST)
      return cannot(entry.path, errno_text(errno));
  }
  return {};
}

}  // namespace

Result<TreeIndex> apply_changes(const UpdateFolders& folders, const Manifest& manifest,
                                TreeChanges changes) {
  return TreeUpdate(folders, manifest, std::move(changes)).run();
}

}  // namespace dt
