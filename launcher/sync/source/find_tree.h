#pragma once

#include "base/environment.h"
#include "launcher/config/sync/sync_options.h"
#include "launcher/sync/source/found_tree.h"

#include <string>

namespace dt {

/// Where the user is: the folder and the variables of this process.
struct UserPlace {
  std::string folder;       ///< absolute; empty when it has been removed
  Environment environment;  ///< with PATH and HOME
};

/// Finds the tree that --sync takes, and lists it: the git tree that holds the folder, else the
/// folder. Blocks while git runs. Fails with Errc::input for a folder that is missing, is a file,
/// or holds too much: "/", and the home without git. Fails with Errc::not_found where a git tree
/// needs git, and there is none.
Result<FoundTree> find_tree(const SyncOptions& options, const UserPlace& place);

}  // namespace dt
