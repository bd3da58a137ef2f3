#include "launcher/job/last_signs.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>

namespace dt {

namespace {

/// A program that only waits for time sleeps, to its user.
std::string state_text(const ProcessState& state) {
  const bool sleeps = state.waits_at.ends_with("nanosleep");
  if (!state.waits_at.empty() && !sleeps) return format(", in {}", printable(state.waits_at));
  return state.pid == 0 ? "" : format(", {}", state.word());
}

}  // namespace

std::vector<std::string> LastSigns::lines(const Plan& plan, const std::vector<size_t>& running,
                                          Time now) const {
  constexpr size_t shown_max = 8;
  std::vector<std::string> lines;
  for (const size_t number : running) {
    if (lines.size() == shown_max) {
      lines.push_back(format("and {} more", running.size() - shown_max));
      break;
    }
    const Task& task = plan.tasks[number];
    const Sign& sign = tasks_[number];
    const auto silent_s =
        std::chrono::duration_cast<std::chrono::seconds>(now - sign.output).count();
    const std::string_view last = sign.wrote ? "still writing" : "no output yet";
    std::string line =
        format("{} on {}: {}", task.rank >= 0 ? format("rank {}", task.rank) : task.id.text(),
               plan.hosts[static_cast<size_t>(task.agent)].host.name,
               silent_s > 0 ? format("silent for {} s", silent_s) : std::string(last));
    if (sign.state) line += state_text(*sign.state);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dt
