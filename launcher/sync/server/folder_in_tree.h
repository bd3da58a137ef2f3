#pragma once

#include "base/result.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/server/sync_events.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Returns the folder of the tasks below the root of a tree: the place of the current folder, or
/// that of --chdir. Empty: the root itself. Fails with Errc::input for a folder outside the tree.
Result<std::string> folder_in_tree(const TreeFacts& tree, const std::optional<std::string>& chdir);

/// Fails with Errc::input if a new copy of the tree has no such folder. `folder` is that of
/// folder_in_tree() for this --chdir. A path through a link of the tree counts as there.
Result<> check_folder_in_copy(const Manifest& manifest, std::string_view folder,
                              const std::optional<std::string>& chdir);

}  // namespace dt
