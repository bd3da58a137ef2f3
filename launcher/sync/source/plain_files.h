#pragma once

#include "base/result.h"
#include "launcher/sync/source/sync_patterns.h"

#include <string>
#include <vector>

namespace dt {

/// The files of folders, without the rules of git.
struct PlainFiles {
  std::vector<std::string> paths;          ///< of all but folders, below the root
  std::vector<std::string> empty_folders;  ///< without an entry but `.git`
  std::vector<std::string> unreadable;     ///< folders
};

/// Lists a folder and all below it, but `.git` and what the patterns exclude. Follows no links.
/// Fails with Errc::input above the limit of a manifest.
Result<PlainFiles> list_plain_files(const std::string& root, const SyncPatterns& patterns);

/// Lists only the files below this folder of the root that the patterns include.
Result<PlainFiles> list_included_files(const std::string& root, const std::string& folder,
                                       const SyncPatterns& patterns);

}  // namespace dt
