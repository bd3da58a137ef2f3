#pragma once

#include "launcher/sync/file_facts.h"
#include "launcher/sync/manifest.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

struct FoundEntry {
  TreeEntry entry;  ///< without its digest
  FileFacts facts;  ///< of a file
  bool operator==(const FoundEntry&) const = default;
};

/// The tree of files that --sync sends, as it lies here.
struct FoundTree {
  std::string root;    ///< absolute, without links
  std::string place;   ///< of the current folder below the root; empty: the root, or outside of it
  std::string commit;  ///< the full hash; empty without git or a commit
  bool dirty = false;  ///< it differs from its commit, or has files that git does not track
  std::vector<FoundEntry> entries;    ///< in the order of the bytes of their paths
  std::vector<std::string> warnings;  ///< one sentence for each kind of left-out entries

  uint64_t total_bytes() const;
};

}  // namespace dt
