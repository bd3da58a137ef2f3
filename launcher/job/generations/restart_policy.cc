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

bool RestartPolicy::allows(const Outcome& failed) const {
  if (count_ >= options_.max) return false;
  if (failed.host_lost) return true;
  const int status = failed.exit_status;
  if (count_ == 0 && is_wrong_path(status)) return false;
  const auto has_it = [status](const StatusRange& range) { return range.contains(status); };
  return options_.on.empty() || std::ranges::any_of(options_.on, has_it);
}

WorldRestart RestartPolicy::next(Duration lived) {
  ++count_;
  in_a_row_ = lived >= long_life ? 1 : in_a_row_ + 1;
  return {.number = count_, .of = options_.max, .delay = restart_delay(in_a_row_)};
}

}  // namespace dt
