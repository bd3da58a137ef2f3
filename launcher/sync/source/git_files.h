#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/sync/source/sync_patterns.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A git tree, and the variables that git gets.
struct GitTree {
  std::string root;  ///< of the tree that --sync takes
  Environment environment;
  std::string place = {};  ///< of a submodule below the root; empty: the root itself
};

/// The files of a git tree, as git lists them. Paths are relative to the root, in any order.
struct GitFiles {
  std::string commit;  ///< the full hash; empty without one
  bool dirty = false;  ///< tracked files differ from the commit, or others are there
  std::vector<std::string> paths;
  std::vector<std::string> repositories = {};  ///< nested ones that are no submodules
};

/// True where git would find a repository's `.git` in this folder.
bool has_git(const std::string& folder);

/// Returns the folder with `.git` that holds this one, or none up to the root of the file system. A
/// `.git` that git would pass over counts only where there is no better one. Requires an absolute
/// path without links.
std::optional<std::string> find_git_root(const std::string& folder);

/// Returns the variables for git: without those that choose a repository, an index or a work tree
/// (GIT_DIR), and with messages in English. git never asks for a password.
Environment git_environment(const Environment& environment);

/// Lists tracked files, and the others but those that git ignores. Ignored files come with them
/// where a pattern includes them. A submodule is one path without its files, and has no commit of
/// its own. Fails with Errc::not_found without git in PATH. Fails with Errc::input and git's own
/// message when it refuses the tree.
Result<GitFiles> list_git_files(const GitTree& tree, const SyncPatterns& patterns);

}  // namespace dt
