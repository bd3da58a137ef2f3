#pragma once

#include "base/result.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/content_writer.h"
#include "launcher/sync/store/object_store.h"
#include "launcher/sync/store/site_place.h"
#include "launcher/sync/store/store_folder.h"
#include "launcher/sync/store/tree_changes.h"
#include "launcher/sync/store/tree_index.h"
#include "launcher/sync/store/tree_lock.h"
#include "launcher/sync/store/tree_staging.h"
#include "launcher/sync/store/tree_writer.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// The place of one tree on this host, and the lock of its job. The lock lives as long as the
/// object. All calls block; they read and write only below the tree and the store.
class TreeSite {
 public:
  using OnProgress = TreeWriter::OnProgress;

  /// Fails with Errc::input for a bad target, and with Errc::refused when another job has it.
  static Result<TreeSite> open(const SiteOrder& order, const StoreFolder& store);
  /// For a host that shares the folder with the one that has built the tree. Returns the tree's
  /// folder, and takes no lock. Fails with Errc::mismatch unless the tree is there with this
  /// manifest.
  static Result<std::string> adopt(const SiteOrder& order, const StoreFolder& store,
                                   const Manifest& manifest);

  TreeSite(TreeSite&&) noexcept = default;
  TreeSite& operator=(TreeSite&&) noexcept = default;

  /// The tree's folder, absolute and without links.
  const std::string& root() const { return place_.root; }

  /// Returns the indices of entries whose contents the build needs and this host lacks, each
  /// content once, in the manifest's order. Contents that may be cut are read first: `on_progress`
  /// is called between them.
  Result<std::vector<size_t>> lacking(const Manifest& manifest, const ObjectStore& objects,
                                      const std::function<void()>& on_progress = {});
  /// Returns the writer of such a content: beside a target, into the folder of its next files, and
  /// otherwise into the store. Call received() after its commit().
  Result<ContentWriter> receive(const Manifest& manifest, size_t number,
                                const ObjectStore& objects) const;
  void received(const Manifest& manifest, size_t number);
  /// Removes what has arrived for a target: a full disk has no room for it.
  void drop_received() { staging_.clear(); }
  /// Makes the tree what the manifest has. Files that tasks wrote stay. Fails with Errc::input for
  /// a path that would leave the tree, or that a file of tasks blocks. Fails with Errc::not_found
  /// when a content is gone or broken: then lacking() names it. Fails with Errc::os as for a full
  /// disk. A failure before the first rename leaves the tree as it was. After a later one, and
  /// after a kill, the next build finishes the tree.
  Result<> build(const Manifest& manifest, const ObjectStore& objects,
                 const OnProgress& on_progress);
  /// True if a tree of this job alone differs from what build() made, `__pycache__` left out.
  Result<bool> written() const;
  /// Removes a tree of this job alone to which nothing was written, or keeps it. Ends the lock.
  Result<> close();

 private:
  explicit TreeSite(SitePlace place)
      : place_(std::move(place)), staging_(path_of(site_files::staging)) {}
  Result<> read_records();
  Result<TreeChanges> changes(const Manifest& manifest);
  Result<> save(const TreeIndex& index);
  Result<> open_staging(const Manifest& manifest, const TreeChanges& changes,
                        const std::function<void()>& on_progress);
  Result<> build_new(TreeWriter& writer);
  Result<> update(const Manifest& manifest, TreeWriter& writer, TreeChanges changes);
  std::string path_of(std::string_view name) const { return place_.own + std::string(name); }

  SitePlace place_;
  TreeStaging staging_;
  TreeLock lock_ = {};
  TreeIndex index_ = {};  ///< the entries that dtrain has put there
  bool saved_ = false;    ///< the index's file has them all
};

}  // namespace dt
