// The driver's reports of long waits to the launcher.
#include "comm/driver/driver.h"

#include <utility>

namespace dt {

void Driver::note_group_wait(std::optional<RankWait> wait, Time since) {
  const Lock lock = enter();
  wait_reporter_.set_group_wait(std::move(wait), since);
  wake_driver();
}

/// Returns true when it has sent a report, and read what had arrived. So operations may have ended.
bool Driver::report_waits() {
  if (!parts_.client || !launcher_connected_) return false;
  const Time now = Clock::now();
  const std::optional<WaitReport> report = wait_reporter_.update(*parts_.engine, calls_, now);
  if (!report) return false;
  // No operation depends on the report, so a failure has no effect here.
  if (const Result<uint32_t> posted = parts_.client->post(*report, now))
    parts_.client->forget(*posted);
  read_rendezvous(clock_.now());  // which also sends
  return true;
}

}  // namespace dt
