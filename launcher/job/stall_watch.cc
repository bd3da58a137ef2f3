#include "launcher/job/stall_watch.h"

#include <algorithm>
#include <tuple>

namespace dt {

StallWatch::Steps StallWatch::reported(int rank, WaitReport report, Time now) {
  reports_[rank] = {std::move(report), now};
  return update(now);
}

StallWatch::Steps StallWatch::rank_ended(int rank, Time now) {
  reports_.erase(rank);
  return update(now);
}

/// Returns the wait of that rank in the operation of the stall; null for none.
const RankWait* StallWatch::wait_of(int rank) const {
  const auto report = reports_.find(rank);
  if (report == reports_.end()) return nullptr;
  const std::vector<RankWait>& waits = report->second.waits.waits;
  const auto wait =
      std::ranges::find_if(waits, [this](const RankWait& w) { return key_of(w) == key_; });
  return wait == waits.end() ? nullptr : &*wait;
}

/// Ends the stall in which no rank waits any more, and begins the next one.
StallWatch::Steps StallWatch::update(Time now) {
  Steps steps;
  const bool goes_on = std::ranges::any_of(
      reports_, [this](const auto& report) { return wait_of(report.first) != nullptr; });
  if (phase_ != Phase::quiet && goes_on) return steps;
  if (phase_ == Phase::open) {
    record_.ended = now;
    steps.ended = record_;
  }
  become(Phase::quiet, Time::max());
  if (!find_stall(now)) return steps;
  become(Phase::gathering, now + gathering_time);
  queried_ = now;
  steps.query = true;
  return steps;
}

/// Sets the operation of the stall: of those with a long wait, the one in which most ranks wait.
/// Among equal ones it is the operation that was found before, else the one with the longest wait.
bool StallWatch::find_stall(Time now) {
  struct Candidate {
    const RankWait* longest = nullptr;
    Time began = Time::max();
    int ranks = 0;
  };
  std::map<Key, Candidate> candidates;
  for (const auto& [rank, report] : reports_) {
    for (const RankWait& wait : report.waits.waits) {
      if (wait.waited == Duration::zero()) continue;
      Candidate& candidate = candidates[key_of(wait)];
      ++candidate.ranks;
      if (report.arrived - wait.waited >= candidate.began) continue;
      candidate.longest = &wait;
      candidate.began = report.arrived - wait.waited;
    }
  }
  std::erase_if(candidates, [&](const auto& entry) { return now - entry.second.began < after_; });
  const auto found = std::ranges::max_element(candidates, {}, [this](const auto& entry) {
    const auto& [key, candidate] = entry;
    return std::tuple(candidate.ranks, key == key_, -candidate.began.time_since_epoch());
  });
  if (found == candidates.end()) return false;
  const auto& [key, candidate] = *found;
  key_ = key;
  record_ = {.operation = candidate.longest->operation,
             .group = candidate.longest->group,
             .last_before = candidate.longest->last_before,
             .began = candidate.began,
             .noticed = now};
  return true;
}

StallWatch::Steps StallWatch::tick(Time now) {
  if (now < deadline_) return {};
  if (phase_ == Phase::inspecting) return open();
  if (phase_ != Phase::gathering) return {};
  find_stall(now);  // now that all ranks have reported
  make_record(now);
  if (record_.missing.empty()) return open();
  become(Phase::inspecting, now + inspecting_time);
  Steps steps;
  for (const MissingRank& missing : record_.missing)
    steps.inspect.push_back(missing.rank);
  return steps;
}

/// Finds the ranks that wait in the operation, and those that keep them waiting.
void StallWatch::make_record(Time now) {
  record_.noticed = now;
  std::vector<int> todo;
  for (const auto& [rank, report] : reports_) {
    const RankWait* wait = wait_of(rank);
    if (wait == nullptr) continue;
    record_.waiting.push_back({rank, {wait->awaited.begin(), wait->awaited.end()}});
    todo.insert(todo.end(), wait->awaited.begin(), wait->awaited.end());
  }
  while (!todo.empty()) {
    const int rank = todo.back();
    todo.pop_back();
    follow(rank, todo);
  }
  // A rank that waits itself is less likely the cause.
  std::ranges::sort(record_.missing, {}, [](const MissingRank& missing) {
    return std::pair(!missing.waits_in.empty(), missing.rank);
  });
}

/// Adds an awaited rank that does not wait in the operation itself. The ranks for which it waits
/// elsewhere may be the cause.
void StallWatch::follow(int rank, std::vector<int>& todo) {
  const bool known =
      std::ranges::find(record_.missing, rank, &MissingRank::rank) != record_.missing.end();
  if (known || wait_of(rank) != nullptr) return;
  MissingRank missing{.rank = rank};
  if (const auto found = reports_.find(rank); found != reports_.end()) {
    const Report& report = found->second;
    missing.answered = report.arrived >= queried_;
    if (!report.waits.waits.empty()) {
      const RankWait& wait = report.waits.waits.front();
      missing.waits_in = wait.operation;
      missing.awaited = {wait.awaited.begin(), wait.awaited.end()};
      todo.insert(todo.end(), wait.awaited.begin(), wait.awaited.end());
    }
  }
  record_.missing.push_back(std::move(missing));
}

StallWatch::Steps StallWatch::inspected(const std::map<int, ProcessState>& states, Time /*now*/) {
  if (phase_ != Phase::inspecting) return {};
  bool complete = true;
  for (MissingRank& missing : record_.missing) {
    if (const auto state = states.find(missing.rank); state != states.end())
      missing.state = state->second;
    complete &= missing.state.pid > 0;
  }
  return complete ? open() : Steps();
}

StallWatch::Steps StallWatch::open() {
  become(Phase::open, Time::max());
  Steps steps;
  steps.began = record_;
  return steps;
}

void StallWatch::become(Phase phase, Time deadline) {
  phase_ = phase;
  deadline_ = deadline;
}

}  // namespace dt
