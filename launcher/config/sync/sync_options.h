#pragma once

#include "launcher/config/sync/git_source.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Where the password or token for a git server lies. The token itself is in no variable that we
/// set, and in no argument.
struct GitToken {
  std::string user;      ///< --sync-user
  std::string variable;  ///< --sync-token-env: a variable of this process
  std::string file;      ///< --sync-token-file
  static constexpr size_t bytes_max = 4096;

  bool given() const { return !variable.empty() || !file.empty(); }
  bool operator==(const GitToken&) const = default;
};

/// --sync: which tree of files goes to the hosts, and where it lies there.
struct SyncOptions {
  std::string from;  ///< --sync-from; empty: the tree that holds the current folder
  std::optional<std::string> target;  ///< --sync-to; none: a new tree for each job
  bool into = false;                  ///< --sync-into: a target that has other files is accepted
  bool local_copy = false;            ///< --sync-local-copy: this machine gets a copy, too
  bool strict = false;                ///< --sync-strict: a link that leaves the tree is an error
  uint64_t bytes_max = uint64_t{2} << 30;    ///< --sync-max
  std::vector<std::string> excluded = {};    ///< --sync-exclude
  std::vector<std::string> included = {};    ///< --sync-include
  std::optional<GitSource> repository = {};  ///< --sync-from with a URL; `from` is empty then
  GitToken token = {};                       ///< for its server
  bool operator==(const SyncOptions&) const = default;
};

}  // namespace dt
