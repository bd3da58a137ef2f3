#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// Returns the folders in which a host may keep dtrain's files, best first: in the home, in the
/// runtime folder, in /tmp.
std::vector<std::string> store_candidates(const Environment& environment);

/// The folder below which a host keeps objects and trees.
class StoreFolder {
 public:
  /// Takes the first candidate in which files can be made and executed, and where no other user
  /// may write. Makes it where it is missing. Fails with Errc::os and the reason of each candidate.
  static Result<StoreFolder> find(const std::vector<std::string>& candidates);

  const std::string& path() const { return path_; }
  /// Returns a path below it, and makes its folders for this user alone.
  Result<std::string> folder(std::string_view below) const;

 private:
  explicit StoreFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Returns why a folder must not be used: another user may fill it. Empty for a good one.
std::string foreign_folder(const std::string& path);

}  // namespace dt
