#pragma once

#include "base/clock.h"
#include "launcher/config/restarts/restart_options.h"
#include "launcher/report/outcome.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace dt {

/// A start of all tasks after a failure.
struct WorldRestart {
  uint32_t number = 1;
  uint32_t of = 0;      ///< the most restarts of the job
  Duration delay = {};  ///< before the start
  bool operator==(const WorldRestart&) const = default;
};

/// A generation that failed so soon after its start has made no progress.
inline constexpr Duration short_life = seconds(60);
/// So many of them in a row end a job whose restarts have no limit.
inline constexpr uint32_t short_lives_max = 3;

/// Decides whether a job starts again after a failed generation, and when. No I/O, no clock.
class RestartPolicy {
 public:
  explicit RestartPolicy(RestartOptions options) : options_(std::move(options)) {}

  /// True if the job starts again after this outcome of a generation, which ran for `lived`. A lost
  /// host counts whatever --restart-on says. A program that cannot be executed at the first start
  /// is not tried again: its path is wrong.
  bool allows(const Outcome& failed, Duration lived) const;
  /// Returns the outcome of a job without a limit that ends with `last`, since that generation ends
  /// a series of short ones. It is the outcome of the first of them. Null where `last` counts.
  const Outcome* first_of_series(const Outcome& last, Duration lived) const;
  /// Requires allows(). After 10 minutes of life the delays begin anew.
  WorldRestart next(const Outcome& failed, Duration lived);

 private:
  /// True if the failure is one after which the user wants a start.
  bool counts(const Outcome& failed) const;
  bool ends_series(Duration lived) const;

  RestartOptions options_;
  uint32_t count_ = 0;
  uint32_t in_a_row_ = 0;               ///< restarts without 10 minutes of life between them
  uint32_t short_lives_ = 0;            ///< generations in a row that failed soon
  std::optional<Outcome> first_short_;  ///< how the first of these ended
};

}  // namespace dt
