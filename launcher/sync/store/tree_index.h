#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/manifest.h"

#include <string>
#include <vector>

namespace dt {

/// One entry that dtrain has put into a tree, and the facts of its file then.
struct PlacedEntry {
  TreeEntry entry;
  FileFacts facts = {};  ///< of a file; ctime_ns is 0 where it was not known yet
  bool operator==(const PlacedEntry&) const = default;
};

/// The entries that dtrain has put into a tree, in the order of their paths. After a build that was
/// killed, a path may be there more than once.
struct TreeIndex {
  std::vector<PlacedEntry> placed;
  bool operator==(const TreeIndex&) const = default;
};

/// Ends with a digest, by which a file is noticed that a power loss has cut.
Bytes encode(const TreeIndex& index);
Result<TreeIndex> decode_tree_index(ByteSpan bytes);

/// Returns an empty index where the file is missing or cut: then no file is known as dtrain's, and
/// none is removed.
TreeIndex read_tree_index(const std::string& path);
/// Replaces the file by a rename.
Result<> write_tree_index(const std::string& path, const TreeIndex& index);

/// Both, as after a build that was killed: either may have put a file there.
TreeIndex merged(TreeIndex a, const TreeIndex& b);

}  // namespace dt
