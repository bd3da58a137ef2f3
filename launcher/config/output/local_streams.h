#pragma once

#include "base/result.h"

#include <map>
#include <string_view>

namespace dt {

/// Which of a task's two streams.
struct StreamChoice {
  bool output = false;
  bool error = false;
  bool any() const { return output || error; }
  bool operator==(const StreamChoice&) const = default;
};

/// Streams of tasks by their local ranks, as --redirects and --tee of torchrun name them.
struct LocalStreams {
  StreamChoice all = {};                      ///< of every task
  std::map<int, StreamChoice> of_ranks = {};  ///< of these local ranks; others: all
  StreamChoice of(int local_rank) const;
  bool any() const;
  bool operator==(const LocalStreams&) const = default;
};

/// Parses "0" (none), "1" (stdout), "2" (stderr), "3" (both), or a list of local ranks such as
/// "0:1,1:3", in which the last entry of a rank counts. Fails with Errc::input for other texts.
Result<LocalStreams> parse_local_streams(std::string_view text);

}  // namespace dt
