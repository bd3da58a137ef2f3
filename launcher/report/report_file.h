#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Where --report goes. A file appears whole or not at all, under its own name only when it is
/// ready; until then nothing of it exists. What is no file (a pipe, a terminal, /dev/null) is
/// opened at once and written as it is.
class ReportFile {
 public:
  /// Tries what write() will need, so that a place that cannot be written is known before the job.
  /// Nothing is written without a path.
  static Result<ReportFile> open(const std::optional<std::string>& path);

  Result<> write(std::string_view text);

 private:
  std::optional<std::string> path_;
  Fd stream_;  ///< of what is no file
};

}  // namespace dt
