#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// A folder of --output-dir or --result-dir. Keeps it open as a descriptor, so that nobody can
/// replace the folder between the check and its use.
class OutputFolder {
 public:
  /// Makes the folder and its parents. Fails with Errc::input for a link of another user. The same
  /// holds for a folder in which every user of the machine can replace our files.
  static Result<OutputFolder> open(const std::string& path);

  /// Makes the folder of a task. Fails with Errc::input for a link, and for a folder of another
  /// user.
  Result<OutputFolder> task_folder(const std::string& name) const;
  /// Makes a file, or empties the one of an earlier job. Fails with Errc::input for a file of
  /// another user, with a second name (hard link), or that is not regular. Never blocks.
  Result<Fd> make_file(const std::string& name) const;
  /// Renames the task folders of an earlier job, "rank.2" to "rank.2.old", except those in `ours`.
  /// Returns their names, sorted. Fails with Errc::input if one cannot be renamed.
  Result<std::vector<std::string>> put_aside_others(const std::set<std::string>& ours) const;
  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

 private:
  OutputFolder(std::string path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  std::string path_;
  Fd folder_;
};

}  // namespace dt
