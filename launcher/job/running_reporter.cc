#include "launcher/job/running_reporter.h"

#include <string>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// How long before the limit agents are asked: enough for their answers.
constexpr Duration asked_before = milliseconds(500);

}  // namespace

RunningReporter::RunningReporter(Dependencies parts)
    : parts_(std::move(parts)), signs_(parts_.plan.tasks.size(), parts_.loop.now()) {
}

void RunningReporter::schedule() {
  timer_ = Timer();
  const Time limit = parts_.supervisor.time_limit();
  if (limit == Time::max() || parts_.supervisor.verdict().timed_out()) return;
  const Time when = limit - asked_before;
  if (when > parts_.loop.now()) timer_ = parts_.loop.at(when, [this] { ask(); });
}

void RunningReporter::ask() {
  std::vector<StatesWanted> wanted(parts_.plan.hosts.size());
  for (const size_t task : parts_.supervisor.lives().running()) {
    const auto agent = static_cast<size_t>(parts_.plan.tasks[task].agent);
    wanted[agent].tasks.push_back({.task = parts_.plan.tasks[task].id});
  }
  for (size_t agent = 0; agent < wanted.size(); ++agent) {
    if (!wanted[agent].tasks.empty()) parts_.ask_agent(agent, wanted[agent]);
  }
}

void RunningReporter::report() {
  if (!parts_.supervisor.verdict().timed_out() || std::exchange(reported_, true)) return;
  JobVerdict& verdict = parts_.supervisor.verdict();
  const Outcome& outcome = verdict.outcome();
  if (!outcome.reason.empty() && !outcome.reason_reported) {
    parts_.log.error("{}", outcome.reason);
    verdict.reason_reported();
  }
  for (const std::string& line :
       signs_.lines(parts_.plan, parts_.supervisor.lives().running(), parts_.loop.now()))
    parts_.log.print("{}", line);
}

}  // namespace dt
