#include "launcher/job/stall_reporter.h"

#include "base/format.h"
#include "launcher/report/stall_text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// A job of many days may stall often; the report has the first of them.
constexpr size_t recorded_stalls_max = 1000;

}  // namespace

StallReporter::StallReporter(Dependencies parts, Duration after)
    : parts_(std::move(parts)), watch_(after) {
  for (size_t i = 0; i < parts_.plan.tasks.size(); ++i) {
    const Task& task = parts_.plan.tasks[i];
    if (task.rank < 0) continue;
    ranks_.emplace(task.id, task.rank);
    tasks_.emplace(task.rank, i);
  }
  if (after == Duration::zero()) return;
  parts_.rendezvous.on_wait_report(
      [this](const TaskId& task, const WaitReport& report) { reported(task, report); });
}

StallReporter::~StallReporter() {
  parts_.rendezvous.on_wait_report({});
}

const Task* StallReporter::task_of(int rank) const {
  const auto found = tasks_.find(rank);
  return found == tasks_.end() ? nullptr : &parts_.plan.tasks[found->second];
}

void StallReporter::reported(const TaskId& task, const WaitReport& report) {
  const auto rank = ranks_.find(task);
  if (rank == ranks_.end()) return;
  WaitReport known = report;
  // Ranks come from the wire. Each is kept once, so that memory stays bounded.
  for (RankWait& wait : known.waits) {
    std::erase_if(wait.awaited, [this](int32_t awaited) { return !tasks_.contains(awaited); });
    std::ranges::sort(wait.awaited);
    const auto repeated = std::unique(wait.awaited.begin(), wait.awaited.end());
    wait.awaited.erase(repeated, wait.awaited.end());
  }
  carry_out(watch_.reported(rank->second, std::move(known), parts_.loop.now()));
}

void StallReporter::task_ended(size_t task) {
  const int rank = parts_.plan.tasks[task].rank;
  if (rank >= 0) carry_out(watch_.rank_ended(rank, parts_.loop.now()));
}

void StallReporter::states(const States& found) {
  std::map<int, ProcessState> states;
  for (const States::OfTask& of : found.tasks) {
    if (const auto rank = ranks_.find(of.task); rank != ranks_.end())
      states[rank->second] = of.state;
  }
  carry_out(watch_.inspected(states, parts_.loop.now()));
}

void StallReporter::carry_out(const StallWatch::Steps& steps) {
  if (steps.ended) log_end(*steps.ended);
  if (steps.began) log_begin(*steps.began);
  if (!steps.inspect.empty()) inspect(steps.inspect);
  // Later: the rendezvous is handling a message now.
  if (steps.query)
    query_ = parts_.loop.after(Duration::zero(), [this] { parts_.rendezvous.query_waits(); });
  timer_ = Timer();
  if (watch_.next_deadline() == Time::max()) return;
  timer_ =
      parts_.loop.at(watch_.next_deadline(), [this] { carry_out(watch_.tick(parts_.loop.now())); });
}

/// Asks the agents of these ranks.
void StallReporter::inspect(const std::vector<int>& ranks) {
  std::map<size_t, StatesWanted> wanted;
  for (const int rank : ranks) {
    const Task& task = *task_of(rank);
    wanted[static_cast<size_t>(task.agent)].tasks.push_back(
        {task.id, parts_.rendezvous.pid_of(task.id)});
  }
  for (const auto& [agent, message] : wanted)
    parts_.ask_agent(agent, message);
}

void StallReporter::log_begin(const StallRecord& stall) {
  parts_.log.warn("{}", stall_text(stall, parts_.plan));
  if (parts_.record.stalls.size() < recorded_stalls_max) parts_.record.stalls.push_back(stall);
}

void StallReporter::log_end(const StallRecord& stall) {
  std::vector<StallRecord>& all = parts_.record.stalls;
  if (!all.empty() && all.back().began == stall.began) all.back().ended = stall.ended;
  // A job that ends has a message of its own.
  const Outcome& outcome = parts_.supervisor.outcome();
  if (!outcome.failure && outcome.reason.empty()) parts_.log.warn("{}", stall_end_text(stall));
}

}  // namespace dt
