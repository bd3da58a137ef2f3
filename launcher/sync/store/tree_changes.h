#pragma once

#include "base/result.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/tree_index.h"

#include <cstddef>
#include <string>
#include <vector>

namespace dt {

/// The difference between a folder and the manifest that it shall have.
struct TreeChanges {
  std::vector<size_t> put = {};           ///< entries that are not in place
  std::vector<std::string> remove = {};   ///< files and links that dtrain put there before
  std::vector<std::string> folders = {};  ///< the same, of folders; they go if they are empty
  std::vector<std::string> blocks = {};   ///< files of dtrain and links, where a folder shall be
  std::vector<std::string> clear = {};    ///< folders without files of tasks, where a file shall be
  TreeIndex in_place = {};                ///< entries that are in place
  bool none() const {
    return put.empty() && remove.empty() && folders.empty() && blocks.empty() && clear.empty();
  }
};

/// Compares an open folder with a manifest, by the facts of `known` entries. Files without such
/// facts are read. Changes nothing. Fails with Errc::input where a file of tasks blocks an entry,
/// or for a path that would leave the folder.
Result<TreeChanges> compare_tree(int root, const Manifest& manifest, const TreeIndex& known);

}  // namespace dt
