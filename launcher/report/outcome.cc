#include "launcher/report/outcome.h"

#include "base/format.h"
#include "base/io/signals.h"
#include "base/text.h"

#include <csignal>

namespace dt {

void count_lost_output(Outcome& outcome, const Error& lost) {
  if (outcome.exit_status != 0) return;
  if (lost.code == Errc::closed) {
    outcome.exit_status = 128 + SIGPIPE;
    outcome.reason = std::string(reader_gone_text);
  } else {
    outcome.exit_status = 1;
    outcome.reason = "output is lost: " + lost.message;
  }
}

Outcome interrupted_outcome(int number) {
  return {.exit_status = 128 + number, .reason = "interrupted by " + signal_name(number)};
}

Outcome stopped_outcome(int number) {
  return {.exit_status = 0, .reason = "stopped by " + signal_name(number)};
}

Outcome time_limit_outcome(Duration limit) {
  return {.exit_status = status_time_limit,
          .reason = format("time limit of {} reached", duration_text(limit))};
}

}  // namespace dt
