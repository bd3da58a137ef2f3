#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "base/wall_time.h"
#include "launcher/sync/store/locked_file.h"

#include <string>
#include <vector>

namespace dt {

/// The files by which hosts of one job find that they share a folder, such as a home on NFS. Each
/// puts a file there, and looks for those of the others. The file is locked while its job runs.
class Markers {
 public:
  /// Puts the file `own` into markers/JOB below `folder`, and makes what is missing.
  static Result<Markers> put(const std::string& folder, const std::string& job,
                             const std::string& own);
  Markers(Markers&& other) noexcept = default;
  Markers& operator=(Markers&&) = delete;
  /// Removes the file, and the folders that become empty.
  ~Markers();

  /// Returns the names of all that are there now.
  std::vector<std::string> all() const;

 private:
  Markers(std::vector<std::string> folders, std::string own, Fd lock)
      : folders_(std::move(folders)), own_(std::move(own)), lock_(std::move(lock)) {}
  std::vector<std::string> folders_;  ///< that it may have made, the innermost first
  std::string own_;
  Fd lock_;
};

/// Counts or removes the markers below a folder that killed jobs have left: no process has them.
Leftovers left_markers(const std::string& folder, LeftoverWork work);
/// Removes markers below a folder that jobs have left more than a day ago. On some network file
/// systems, locks of other hosts are not seen.
void prune_markers(const std::string& folder, WallClock::time_point now);

}  // namespace dt
