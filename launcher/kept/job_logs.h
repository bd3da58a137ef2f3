#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/console/line_tagger.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One file of a job's output, and how its lines are shown.
struct LogFile {
  std::string path;
  std::string tag;        ///< "[3]<stdout>:"; empty: its lines stand as they are
  bool of_error = false;  ///< is shown on standard error
};

/// Shows the files of a job's output, also while they grow. Lines have the tags that they have on a
/// terminal. A file that --keep-output has shortened begins with a note on that.
class JobLogs {
 public:
  struct Options {
    std::optional<int64_t> tail;  ///< the last lines of each file; none: all
    bool out_terminal = false;    ///< as for LineTagger
    bool err_terminal = false;
  };
  /// Where text goes; fails when nobody reads it.
  using Write = std::function<Result<>(bool of_error, std::string_view text)>;
  JobLogs(const Options& options, Write write) : options_(options), write_(std::move(write)) {}

  /// Adds files that are not known yet. Files that do not exist may come later.
  void add(const std::vector<LogFile>& files);
  /// Shows what the files have got since the last call. Returns whether that was anything.
  Result<bool> show_new();
  /// Shows the last lines, which have no end.
  Result<> finish();

 private:
  struct Reader {
    LogFile file;
    LineTagger tagger{""};
    Fd opened = {};
    uint64_t offset = 0;
  };
  Result<> begin(Reader& reader);
  Result<bool> read_on(Reader& reader);

  Options options_;
  Write write_;
  std::vector<Reader> readers_;
};

/// Returns the offset at which the last `lines` lines of a file begin, not before `from`.
uint64_t tail_offset(int file, uint64_t from, uint64_t size, int64_t lines);

}  // namespace dt
