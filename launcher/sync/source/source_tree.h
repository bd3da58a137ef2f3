#pragma once

#include "base/result.h"
#include "launcher/config/sync/sync_options.h"
#include "launcher/sync/source/find_tree.h"
#include "launcher/sync/source/found_tree.h"

#include <string>
#include <vector>

namespace dt {

/// The tree that --sync sends, wherever it comes from.
struct SourceTree {
  FoundTree found;
  std::string name;  ///< the root, or the URL without user and REF; for messages and for keys
  std::vector<std::string> notes = {};
};

/// Where git checks a URL out.
struct CheckoutPlace {
  std::string folder;        ///< an empty folder of this user alone; empty: there is no URL
  bool joins_group = false;  ///< git joins this process's group; it requires no terminal
};

/// Finds the tree of the current folder, of another one, or of a URL, which git fetches then.
/// Blocks. Fails as find_tree() and check_out() do.
Result<SourceTree> find_source_tree(const SyncOptions& options, const UserPlace& user,
                                    const CheckoutPlace& place);

}  // namespace dt
