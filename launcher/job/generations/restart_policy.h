#pragma once

#include "base/clock.h"
#include "launcher/config/restarts/restart_options.h"
#include "launcher/report/outcome.h"

#include <cstdint>
#include <utility>

namespace dt {

/// A start of all tasks after a failure.
struct WorldRestart {
  uint32_t number = 1;
  uint32_t of = 0;      ///< the most restarts of the job
  Duration delay = {};  ///< before the start
  bool operator==(const WorldRestart&) const = default;
};

/// Decides whether a job starts again after a failed generation, and when. No I/O, no clock.
class RestartPolicy {
 public:
  explicit RestartPolicy(RestartOptions options) : options_(std::move(options)) {}

  /// True if the job starts again after this outcome of a generation. A lost host counts whatever
  /// --restart-on says. A program that cannot be executed at the first start is not tried again:
  /// its path is wrong.
  bool allows(const Outcome& failed) const;
  /// Requires allows(). `lived`: how long the failed generation ran. After 10 minutes the delays
  /// begin anew.
  WorldRestart next(Duration lived);

 private:
  RestartOptions options_;
  uint32_t count_ = 0;
  uint32_t in_a_row_ = 0;  ///< restarts without 10 minutes of life between them
};

}  // namespace dt
