#include "launcher/sync/store/tree_site.h"

#include "base/finally.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/kept_trees.h"
#include "launcher/sync/store/tree_changes.h"
#include "launcher/sync/store/tree_update.h"
#include "launcher/sync/store/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

namespace dt {

namespace {

using Kind = TreeEntry::Kind;

Result<Fd> open_tree(const std::string& root) {
  Fd folder = open_folder(AT_FDCWD, root.c_str());
  if (folder) return folder;
  return fail(Errc::os, format("cannot open {}: {}", printable_path(root), errno_text(errno)));
}

Result<> make_empty_folder(const std::string& path) {
  TRY(remove_tree(path));
  if (::mkdir(path.c_str(), 0777) == 0) return {};
  return fail(Errc::os,
              format("cannot make the folder {}: {}", printable_path(path), errno_text(errno)));
}

/// Leaves no folder without a lock, which `dtrain cache clear` would take for one that begins.
Result<TreeLock> lock_site(const SitePlace& place, const std::string& job) {
  const TreeLock::Request request = {.folder = place.own, .job = job, .what = place.root};
  if (place.kept) return TreeLock::take(request);
  Result<TreeLock> lock = TreeLock::make(request);
  if (!lock) ::rmdir(place.own.c_str());
  return lock;
}

/// All entries, where no tree is yet.
TreeChanges all_of(const Manifest& manifest) {
  TreeChanges changes;
  for (size_t i = 0; i < manifest.entries.size(); ++i)
    changes.put.push_back(i);
  return changes;
}

/// Opens a tree that another host has just made. On NFS, opening a folder for reading makes the
/// client forget which names it remembers there.
Fd open_fresh(const std::string& root) {
  const std::string above = root.substr(0, root.rfind('/') + 1);
  const Fd parent(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return open_folder(AT_FDCWD, root.c_str());
}

/// Does the same for each folder that has entries.
void refresh_folders(int root, const Manifest& manifest) {
  std::set<std::string> folders;
  for (const TreeEntry& entry : manifest.entries) {
    for (size_t slash = entry.path.find('/'); slash != std::string::npos;
         slash = entry.path.find('/', slash + 1))
      folders.insert(entry.path.substr(0, slash));
  }
  FolderWalk walk(root);
  for (const std::string& path : folders) {
    const Result<WalkedName> at = walk.enter(path);
    if (at) static_cast<void>(open_folder(at->folder, at->name));
  }
}

}  // namespace

Result<TreeSite> TreeSite::open(const SiteOrder& order, const StoreFolder& store) {
  const SitePlace place = TRY(find_place(order, store));
  if (!place.kept) TRY(store.folder("trees"));
  TRY(make_place(place, order));
  TreeSite site(place);
  site.lock_ = TRY(lock_site(place, order.job));
  TRY(site.read_records());
  return site;
}

/// Reads which files are dtrain's, also after a build that was killed.
Result<> TreeSite::read_records() {
  const std::string index_path = path_of(site_files::index);
  const std::string journal_path = path_of(site_files::journal);
  index_ = read_tree_index(index_path);
  const bool interrupted = ::access(journal_path.c_str(), F_OK) == 0;
  if (interrupted) index_ = merged(std::move(index_), read_tree_index(journal_path));
  // The index's file makes a target one of dtrain's, also if its first build is killed.
  const bool first = place_.kept && ::access(index_path.c_str(), F_OK) != 0;
  if (interrupted || first) TRY(save(index_));
  saved_ = true;
  return {};
}

/// Replaces the index's file, after which no journal is needed.
Result<> TreeSite::save(const TreeIndex& index) {
  TRY(write_tree_index(path_of(site_files::index), index));
  ::unlink(path_of(site_files::journal).c_str());
  return {};
}

Result<TreeChanges> TreeSite::changes(const Manifest& manifest) {
  if (!names_folder(place_.root)) return all_of(manifest);
  const Fd root = TRY(open_tree(place_.root));
  TreeChanges found = TRY(compare_tree(root.get(), manifest, index_));
  if (found.in_place != index_) {
    // The next call need not read files again whose facts were not known.
    index_ = merged(std::move(index_), found.in_place);
    saved_ = false;
  }
  return found;
}

Result<std::vector<size_t>> TreeSite::lacking(const Manifest& manifest, const ObjectStore& objects,
                                              const std::function<void()>& on_progress) {
  const TreeChanges found = TRY(changes(manifest));
  if (found.none()) staging_.clear();
  if (place_.kept && !found.none()) TRY(open_staging(manifest, found, on_progress));
  std::vector<size_t> numbers;
  std::set<Digest> seen;
  for (const size_t number : found.put) {
    const TreeEntry& entry = manifest.entries[number];
    if (entry.kind != Kind::file || entry.size == 0 || !seen.insert(entry.digest).second) continue;
    if (on_progress) on_progress();
    if (!staging_.find(entry.digest) && !objects.has(entry)) numbers.push_back(number);
  }
  return numbers;
}

Result<> TreeSite::open_staging(const Manifest& manifest, const TreeChanges& changes,
                                const std::function<void()>& on_progress) {
  const Fd root = TRY(open_tree(place_.root));
  return staging_.open(manifest, changes.put,
                       {.root = root.get(), .known = index_, .on_progress = on_progress});
}

Result<ContentWriter> TreeSite::receive(const Manifest& manifest, size_t number,
                                        const ObjectStore& objects) const {
  if (place_.kept) return staging_.create(manifest, number);
  return objects.create(manifest.entries[number]);
}

void TreeSite::received(const Manifest& manifest, size_t number) {
  if (place_.kept) staging_.add(manifest, number);
}

Result<> TreeSite::build(const Manifest& manifest, const ObjectStore& objects,
                         const OnProgress& on_progress) {
  TreeWriter writer(manifest, objects, on_progress);
  if (!names_folder(place_.root)) return build_new(writer);
  TreeChanges found = TRY(changes(manifest));
  if (!found.none()) return update(manifest, writer, std::move(found));
  if (saved_) return {};
  index_ = std::move(found.in_place);
  TRY(save(index_));
  saved_ = true;
  return {};
}

Result<> TreeSite::build_new(TreeWriter& writer) {
  const std::string draft = path_of(site_files::staging);
  TRY(make_empty_folder(draft));
  Result<TreeIndex> index = writer.write_all(draft);
  if (index) {
    index_ = *std::move(index);
    TRY(save(index_));
    saved_ = true;
    if (std::rename(draft.c_str(), place_.root.c_str()) == 0) return {};
    index = fail(Errc::os, format("cannot name the new tree {}: {}", printable_path(place_.root),
                                  errno_text(errno)));
  }
  static_cast<void>(remove_tree(draft));
  return tl::unexpected(std::move(index).error());
}

Result<> TreeSite::update(const Manifest& manifest, TreeWriter& writer, TreeChanges changes) {
  TRY(open_staging(manifest, changes, {}));
  Result<TreeIndex> staged = writer.stage(staging_, changes.put);
  if (!staged && staged.error().code == Errc::not_found) {
    // The next build needs the contents that have arrived.
    staging_.clear_others();
    return tl::unexpected(std::move(staged).error());
  }
  const Finally end([&] { staging_.clear(); });
  if (!staged) return tl::unexpected(std::move(staged).error());
  // From here on, index and journal together have all files that may be dtrain's.
  if (!saved_) TRY(save(index_));
  saved_ = false;
  TRY(write_tree_index(path_of(site_files::journal), *staged));
  const Fd root = TRY(open_tree(place_.root));
  const Fd staged_files = TRY(open_tree(staging_.path()));
  const UpdateFolders folders = {
      .root = root.get(), .staging = staged_files.get(), .shown = place_.root};
  Result<TreeIndex> applied = apply_changes(folders, manifest, std::move(changes));
  if (applied)
    std::swap(index_, *applied);
  else
    index_ = merged(std::move(index_), *staged);
  TRY(save(index_));
  saved_ = true;
  if (!applied) return tl::unexpected(std::move(applied).error());
  return {};
}

Result<std::string> TreeSite::adopt(const SiteOrder& order, const StoreFolder& store,
                                    const Manifest& manifest) {
  const SitePlace place = TRY(find_place(order, store));
  const auto differs = [&](std::string_view why) {
    return fail(Errc::mismatch,
                format("the tree {} that another host has made is not the same here: {}",
                       printable_path(place.root), why));
  };
  const Fd root = open_fresh(place.root);
  if (!root) return differs(errno_text(errno));
  const TreeIndex index = read_tree_index(place.own + std::string(site_files::index));
  const bool same = std::ranges::equal(index.placed, manifest.entries, {}, &PlacedEntry::entry);
  if (!same) return differs("its index has another tree");
  refresh_folders(root.get(), manifest);
  const Result<TreeChanges> found = compare_tree(root.get(), manifest, index);
  if (!found) return differs(found.error().message);
  if (found->put.empty()) return place.root;
  return differs(printable(manifest.entries[found->put.front()].path));
}

Result<bool> TreeSite::written() const {
  const Fd root = TRY(open_tree(place_.root));
  const TreeUse use = TRY(read_tree_use(root.get(), index_));
  return use.written;
}

Result<> TreeSite::close() {
  if (!lock_) return {};
  Finally end([&] { lock_.release(); });
  if (place_.kept) return {};
  if (!names_folder(place_.root)) return remove_site(place_, lock_);
  const Fd root = TRY(open_tree(place_.root));
  const TreeUse use = TRY(read_tree_use(root.get(), index_));
  if (!use.written) return remove_site(place_, lock_);
  return write_left_size(place_, use.bytes);
}

}  // namespace dt
