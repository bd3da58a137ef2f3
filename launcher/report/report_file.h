#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Writes the report to the path of --report. A file appears whole or not at all: the text goes to
/// a draft beside it, which is then renamed. Another kind of path (a pipe, a terminal, /dev/null)
/// is opened at once and written directly.
class ReportFile {
 public:
  /// Removes the report of an earlier job: a regular file of this user that has no other name. A
  /// job that does not come to its end must not leave it for its own.
  static void remove_stale(const std::string& path);

  /// Removes a stale report, makes the file's folder, and tries the steps of write(), so that a bad
  /// path fails before the job starts. Without a path, write() does nothing. Fails with Errc::input
  /// for a path that cannot be written, a folder, a link, and a file of another user.
  static Result<ReportFile> open(const std::optional<std::string>& path);

  Result<> write(std::string_view text);

 private:
  std::optional<std::string> path_;
  Fd stream_;  ///< open for a path that is no regular file
};

}  // namespace dt
