#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <string>
#include <utility>

namespace dt {

/// A folder of --output-dir. It is held by its descriptor, so that nobody can put another one in
/// its place between a look at it and its use.
class OutputFolder {
 public:
  /// Makes the folder, and those above it. Refuses a link of another user, and a folder in which
  /// every user of the machine can replace our files.
  static Result<OutputFolder> open(const std::string& path);

  /// Makes a task's folder within. Refuses a link, and a folder of another user.
  Result<OutputFolder> task_folder(const std::string& name) const;
  /// Makes a file, or empties the one of an earlier job. Refuses a file of another user, one that
  /// has a second name, and what is no regular file; never waits for a reader.
  Result<Fd> make_file(const std::string& name) const;
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

 private:
  OutputFolder(std::string path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  std::string path_;
  Fd folder_;
};

}  // namespace dt
