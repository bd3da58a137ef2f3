#include "launcher/sync/store/tree_changes.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/store/file_copy.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <span>
#include <utility>

namespace dt {

namespace {

using Kind = TreeEntry::Kind;

struct stat status_of(const WalkedName& at) {
  struct stat status = {};
  if (::fstatat(at.folder, at.name, &status, AT_SYMLINK_NOFOLLOW) != 0) status.st_mode = 0;
  return status;
}

bool same_facts(const FileFacts& placed, FileFacts now) {
  if (placed.ctime_ns == 0) now.ctime_ns = 0;
  return placed == now;
}

bool is_executable(const struct stat& status) {
  return (status.st_mode & S_IXUSR) != 0;
}

class TreeComparison {
 public:
  TreeComparison(int root, const Manifest& manifest, const TreeIndex& known)
      : root_(root), manifest_(manifest), known_(known) {}

  Result<TreeChanges> run();

 private:
  Result<> compare_entry(size_t number);
  bool is_in_place(const TreeEntry& entry, const WalkedName& at, const struct stat& status);
  Result<> find_removals();
  Result<> block_folder(const std::string& path);
  Result<> clear_folder(const std::string& path, const WalkedName& at);
  std::optional<std::string> file_of_tasks(const std::string& path, int folder) const;
  std::span<const PlacedEntry> known_at(const std::string& path) const;
  bool is_known(const std::string& path, const WalkedName& at, const struct stat& status) const;

  int root_;
  const Manifest& manifest_;
  const TreeIndex& known_;
  FolderWalk walk_{root_};
  TreeChanges changes_;
};

tl::unexpected<Error> blocked_by(const std::string& path, const std::string& file) {
  return fail(Errc::input,
              format("cannot put {} there: {} is in its place, which a task or another "
                     "program has made; move that away",
                     printable(path), printable(file)));
}

Result<TreeChanges> TreeComparison::run() {
  changes_.in_place.placed.reserve(manifest_.entries.size());
  for (size_t i = 0; i < manifest_.entries.size(); ++i) {
    if (i > 0 && manifest_.entries[i - 1].path >= manifest_.entries[i].path)
      return fail(Errc::input, "the entries of the tree are not in the order of their paths");
    TRY(compare_entry(i));
  }
  TRY(find_removals());
  return std::move(changes_);
}

Result<> TreeComparison::compare_entry(size_t number) {
  const TreeEntry& entry = manifest_.entries[number];
  const Result<WalkedName> at = walk_.enter(entry.path);
  if (!at) {
    if (at.error().code != Errc::not_found && at.error().code != Errc::refused)
      return tl::unexpected(at.error());
    changes_.put.push_back(number);
    if (at.error().code == Errc::refused) TRY(block_folder(walk_.blocked()));
    return {};
  }
  errno = 0;
  const struct stat status = status_of(*at);
  const bool there = status.st_mode != 0;
  if (!there && errno != ENOENT) {
    return fail(Errc::os,
                format("cannot examine {} there: {}", printable(entry.path), errno_text(errno)));
  }
  if (there && is_in_place(entry, *at, status)) {
    changes_.in_place.placed.push_back({.entry = entry, .facts = {}});
    if (entry.kind == Kind::file) changes_.in_place.placed.back().facts = facts_of(status);
    return {};
  }
  changes_.put.push_back(number);
  if (entry.kind == Kind::folder && there) return block_folder(entry.path);
  if (S_ISDIR(status.st_mode)) return clear_folder(entry.path, *at);
  return {};
}

bool TreeComparison::is_in_place(const TreeEntry& entry, const WalkedName& at,
                                 const struct stat& status) {
  if (entry.kind == Kind::folder) return S_ISDIR(status.st_mode);
  if (entry.kind == Kind::link) return S_ISLNK(status.st_mode) && has_target(at, entry.target);
  const FileFacts facts = facts_of(status);
  if (!S_ISREG(status.st_mode) || facts.size != entry.size ||
      is_executable(status) != entry.executable)
    return false;
  for (const PlacedEntry& placed : known_at(entry.path)) {
    if (placed.entry == entry && same_facts(placed.facts, facts)) return true;
  }
  if (entry.size == 0) return true;
  const Fd file(::openat(at.folder, at.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return false;
  const Result<Digest> digest = content_digest(file.get());
  return digest && *digest == entry.digest;
}

std::span<const PlacedEntry> TreeComparison::known_at(const std::string& path) const {
  const auto range = std::ranges::equal_range(
      known_.placed, path, {},
      [](const PlacedEntry& placed) -> const std::string& { return placed.entry.path; });
  return {range.begin(), range.end()};
}

bool TreeComparison::is_known(const std::string& path, const WalkedName& at,
                              const struct stat& status) const {
  return std::ranges::any_of(known_at(path), [&](const PlacedEntry& placed) {
    switch (placed.entry.kind) {
      case Kind::file:
        return S_ISREG(status.st_mode) && same_facts(placed.facts, facts_of(status));
      case Kind::link:
        return S_ISLNK(status.st_mode) && has_target(at, placed.entry.target);
      case Kind::folder:
        return S_ISDIR(status.st_mode);
    }
    return false;
  });
}

Result<> TreeComparison::block_folder(const std::string& path) {
  if (!changes_.blocks.empty() && changes_.blocks.back() == path) return {};
  FolderWalk walk(root_);
  const WalkedName at = TRY(walk.enter(path));
  const struct stat status = status_of(at);
  // A link goes without a loss: its target stays.
  if (!S_ISLNK(status.st_mode) && !is_known(path, at, status)) return blocked_by(path, path);
  changes_.blocks.push_back(path);
  return {};
}

Result<> TreeComparison::clear_folder(const std::string& path, const WalkedName& at) {
  const Fd folder = open_folder(at.folder, at.name);
  if (!folder) return blocked_by(path, path);
  if (const auto file = file_of_tasks(path, folder.get())) return blocked_by(path, *file);
  changes_.clear.push_back(path);
  return {};
}

/// Returns a path below the folder that dtrain has not put there; none if there is none.
std::optional<std::string> TreeComparison::file_of_tasks(const std::string& path,
                                                         int folder) const {
  const Result<std::vector<std::string>> names = names_in(folder);
  if (!names) return path;
  for (const std::string& name : *names) {
    std::string below = format("{}/{}", path, name);
    const WalkedName at{.folder = folder, .name = name.c_str()};
    const struct stat status = status_of(at);
    if (!S_ISDIR(status.st_mode)) {
      if (!is_known(below, at, status)) return below;
      continue;
    }
    if (name == "__pycache__") continue;
    const Fd child = open_folder(folder, name.c_str());
    if (!child) return below;
    if (auto file = file_of_tasks(below, child.get())) return file;
  }
  return std::nullopt;
}

Result<> TreeComparison::find_removals() {
  for (const PlacedEntry& placed : known_.placed) {
    const std::string& path = placed.entry.path;
    if (std::ranges::binary_search(manifest_.entries, path, {}, &TreeEntry::path)) continue;
    const Result<WalkedName> at = walk_.enter(path);
    if (!at) continue;  // a task has removed or replaced its folder
    const struct stat status = status_of(*at);
    if (!is_known(path, *at, status)) continue;
    std::vector<std::string>& list = S_ISDIR(status.st_mode) ? changes_.folders : changes_.remove;
    if (list.empty() || list.back() != path) list.push_back(path);
  }
  return {};
}

}  // namespace

Result<TreeChanges> compare_tree(int root, const Manifest& manifest, const TreeIndex& known) {
  return TreeComparison(root, manifest, known).run();
}

}  // namespace dt
