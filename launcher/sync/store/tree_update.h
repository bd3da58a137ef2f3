#pragma once

#include "base/result.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/tree_changes.h"
#include "launcher/sync/store/tree_index.h"

#include <string>

namespace dt {

/// The folders of an update.
struct UpdateFolders {
  int root = -1;        ///< the open tree
  int staging = -1;     ///< open, with the files of TreeWriter::stage()
  std::string shown{};  ///< the tree's path, for errors
};

/// Makes a tree what its manifest has, by removals, and then by renames of staged files. Returns
/// the index of the whole tree.
Result<TreeIndex> apply_changes(const UpdateFolders& folders, const Manifest& manifest,
                                TreeChanges changes);

}  // namespace dt
