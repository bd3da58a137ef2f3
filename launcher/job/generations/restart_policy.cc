#include "launcher/job/generations/restart_policy.h"

#include "launcher/job/generations/restart_delay.h"

#include <algorithm>

namespace dt {

namespace {

/// A shell's statuses for programs that it cannot execute, or does not find.
bool is_wrong_path(int status) {
  return status == 126 || status == 127;
}

}  // namespace

bool RestartPolicy::counts(const Outcome& failed) const {
  if (failed.host_lost) return true;
  const int status = failed.exit_status;
  if (count_ == 0 && is_wrong_path(status)) return false;
  const auto has_it = [status](const StatusRange& range) { return range.contains(status); };
  return options_.on.empty() || std::ranges::any_of(options_.on, has_it);
}

bool RestartPolicy::ends_series(Duration lived) const {
  return options_.max == unlimited_restarts && lived < short_life &&
         short_lives_ + 1 >= short_lives_max;
}

bool RestartPolicy::allows(const Outcome& failed, Duration lived) const {
  return count_ < options_.max && counts(failed) && !ends_series(lived);
}

const Outcome* RestartPolicy::first_of_series(const Outcome& last, Duration lived) const {
  // A signal may have come after the failure.
  const bool is_failure = last.failure || last.host_lost;
  return is_failure && counts(last) && ends_series(lived) ? &*first_short_ : nullptr;
}

WorldRestart RestartPolicy::next(const Outcome& failed, Duration lived) {
  ++count_;
  in_a_row_ = lived >= long_life ? 1 : in_a_row_ + 1;
  if (lived >= short_life) {
    short_lives_ = 0;
  } else if (++short_lives_ == 1) {
    first_short_ = failed;
  }
  return {.number = count_, .of = options_.max, .delay = restart_delay(in_a_row_)};
}

}  // namespace dt
