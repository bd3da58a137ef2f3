#include "launcher/job/last_signs.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>

namespace dt {

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
    std::string line =
        format("{} on {}: {}", task.rank >= 0 ? format("rank {}", task.rank) : task.id.text(),
               plan.hosts[static_cast<size_t>(task.agent)].host.name,
               silent_s > 0 ? format("silent for {} s", silent_s) : std::string("still writing"));
    if (sign.state && !sign.state->waits_at.empty()) {
      line += format(", in {}", printable(sign.state->waits_at));
    } else if (sign.state && sign.state->pid != 0) {
      line += format(", {}", sign.state->word());
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dt
