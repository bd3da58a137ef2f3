#pragma once

#include "base/result.h"

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace dt {

/// Makes folders for mounts that do not exist on the host, and leaves the host as it is. It covers
/// the nearest folder that exists with a file system in memory. All its entries are mounted into
/// that at their names, so that a task still reads and writes the same files below them. Nothing
/// new can be made directly in the covered folder, since that would be lost.
///
/// Requires a mount namespace of this process, and the rights of root there.
class MissingFolders {
 public:
  /// `kept` is never covered: tasks make files in it.
  explicit MissingFolders(std::string kept) : kept_(std::move(kept)) {}
  MissingFolders(const MissingFolders&) = delete;
  MissingFolders& operator=(const MissingFolders&) = delete;

  /// The most entries of a folder that is covered.
  static constexpr size_t entries_max = 2000;

  /// Makes a folder that does not exist. Fails with Errc::unsupported where the nearest existing
  /// folder is `kept`, has too many entries, or belongs to all users, as /tmp does. Fails with
  /// Errc::os on kernels before Linux 5.2.
  Result<> make(const std::string& folder);
  /// Makes the covering file systems read-only.
  Result<> seal();

 private:
  bool is_own(const std::string& folder) const;
  Result<> cover(const std::string& folder);
  Result<> cover_root();

  struct Cover {
    std::string folder;
    dev_t device = 0;
  };
  std::string kept_;
  std::vector<Cover> covers_;
};

}  // namespace dt
