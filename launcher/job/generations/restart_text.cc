#include "launcher/job/generations/restart_text.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"

#include <algorithm>
#include <vector>

namespace dt {

namespace {

/// " after rank 3 on b: killed by SIGKILL", or ": agent on b lost: no heartbeat for 5s".
std::string cause_text(const Outcome& failed) {
  if (!failed.failure) return ": " + failed.reason;
  const Failure& failure = *failed.failure;
  const std::string who = failure.rank >= 0 ? format("rank {}", failure.rank) : failure.task.text();
  return format(" after {} on {}: {}", who, failure.host, failure.cause);
}

/// "a, b, e (spare)".
std::string hosts_text(const NextPlan& next) {
  std::vector<std::string> known;
  std::vector<std::string> taken;
  for (const PlannedHost& planned : next.plan.hosts) {
    const std::string& name = planned.host.name;
    if (planned.tasks.empty()) continue;
    if (std::ranges::count(next.taken, name) > 0) {
      taken.push_back(name + " (spare)");
    } else {
      known.push_back(name);
    }
  }
  if (!known.empty()) taken.insert(taken.begin(), compress_names(known));
  return join(taken, ", ");
}

}  // namespace

std::string restart_text(const WorldRestart& restart, const Outcome& failed, const NextPlan& next) {
  const bool at_once = restart.delay == Duration::zero();
  const std::string limit = restart.of == unlimited_restarts ? "" : format(" of {}", restart.of);
  std::string text =
      format("restart {}{}{}{}", restart.number, limit,
             at_once ? "" : " in " + duration_text(restart.delay), cause_text(failed));
  const int ranks = next.plan.world_size;
  if (ranks == 0) return text;
  return format("{}; {} rank{} on {}", text, ranks, ranks == 1 ? "" : "s", hosts_text(next));
}

std::string short_lives_text() {
  return format(
      "{} starts in a row have failed within {}: the job ends as the first of them; --max-restarts "
      "N allows N restarts",
      short_lives_max, duration_text(short_life));
}

}  // namespace dt
