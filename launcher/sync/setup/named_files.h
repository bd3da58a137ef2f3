#pragma once

#include "base/crypto.h"
#include "launcher/sync/setup/setup_order.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the words of a shell's line, without their quotes, and what follows "=" and "-r" in
/// them: each may be a path. Expands nothing. A "." that runs a file is no word.
std::vector<std::string> path_words(const std::string& command);

/// Returns the digest of the paths and contents of all files of the tree that the command names,
/// those below a named folder included. Without a list of files, it reads them in the tree.
/// Returns none where it cannot know them: for a file that it cannot read, and then for a folder.
std::optional<Digest> named_contents(const std::string& command, const SetupOrder& order);

}  // namespace dt
