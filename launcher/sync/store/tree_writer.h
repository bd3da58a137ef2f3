#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/file_copy.h"
#include "launcher/sync/store/folder_walk.h"
#include "launcher/sync/store/object_store.h"
#include "launcher/sync/store/tree_index.h"
#include "launcher/sync/store/tree_staging.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace dt {

/// How far a build is, by entries that are in place.
struct BuildProgress {
  size_t done = 0;
  size_t all = 0;
};

/// Makes the entries of a manifest from objects.
class TreeWriter {
 public:
  using OnProgress = std::function<void(BuildProgress)>;

  TreeWriter(const Manifest& manifest, const ObjectStore& objects, OnProgress on_progress)
      : manifest_(manifest), objects_(objects), on_progress_(std::move(on_progress)) {}

  /// Makes all entries in the empty folder `root`.
  Result<TreeIndex> write_all(const std::string& root);
  /// Makes those files and links of `numbers` that are not in `staging` yet, each under its number.
  /// The index has their facts, but for the time that a rename changes.
  Result<TreeIndex> stage(const TreeStaging& staging, std::span<const size_t> numbers);

 private:
  Result<PlacedEntry> make(const TreeEntry& entry, const WalkedName& at);
  Result<FileFacts> make_file(const TreeEntry& entry, const WalkedName& at, const Fd& content);
  /// The open folder of staged files.
  struct Staged {
    const TreeStaging& files;
    int folder = -1;
  };
  Result<PlacedEntry> stage_entry(size_t number, const Staged& staged);
  void count();

  const Manifest& manifest_;
  const ObjectStore& objects_;
  OnProgress on_progress_;
  FileCopier copier_ = {};
  size_t done_ = 0;
};

}  // namespace dt
