#include "comm/training/ps/state/step_coordinator.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace dt {

StepCoordinator::StepCoordinator(std::vector<PsWorker> workers)
    : workers_(std::move(workers)), states_(workers_.size()) {
}

bool StepCoordinator::takes_part(uint32_t worker) const {
  return worker < workers_.size() && workers_[worker].takes_part;
}

std::string StepCoordinator::name(uint32_t worker) const {
  const PsWorker& which = workers_[worker];
  return format("{} on {}", which.id.text(), printable(which.host));
}

void StepCoordinator::answer(Caller caller, PsVerdict verdict, std::optional<Error> error) {
  answers_.push_back({caller, verdict, std::move(error)});
}

Result<> StepCoordinator::set_mode(PsMode::Kind kind, uint32_t count) {
  const auto all = static_cast<uint32_t>(std::ranges::count_if(workers_, &PsWorker::takes_part));
  if (kind == PsMode::Kind::sync && count > all)
    return fail(Errc::input, format("{} workers in each step: the job has {}", count, all));
  if (kind == PsMode::Kind::sync && count == 0) count = all;
  const PsMode::Kind before = mode_.kind;
  mode_ = {.number = mode_.number + 1, .kind = kind, .count = count};
  // A bounded push has had its effect, a synchronous one has none.
  const PsVerdict verdict =
      before == PsMode::Kind::bounded ? PsVerdict::done : PsVerdict::mode_changed;
  for (const auto& [worker, request] : std::exchange(waiting_, {}))
    answer({worker, request}, verdict);
  committed_.clear();
  for (State& state : states_)
    state.clock = 0;
  return {};
}

void StepCoordinator::count_staleness(uint64_t seen_step) {
  const uint64_t behind = step_ - std::min(step_, seen_step);
  const auto bucket = static_cast<size_t>(std::bit_width(behind));
  ++staleness_[std::min(bucket, PsStatus::buckets - 1)];
}

void StepCoordinator::applied_push(uint32_t worker, uint64_t seen_step) {
  count_staleness(seen_step);
  ++states_[worker].pushes;
  ++step_;
}

bool StepCoordinator::stale_push(uint32_t worker, uint64_t round) {
  if (round >= decision_.round) return false;
  ++states_[worker].stale;
  return true;
}

void StepCoordinator::commit(Caller caller, const CommitRequest& request) {
  if (waits(caller.worker)) {
    return answer(caller, PsVerdict::done,
                  Error{Errc::protocol, "a worker commits while it waits for its last commit"});
  }
  if (request.mode.kind == PsMode::Kind::bounded) return commit_bounded(caller, request);
  commit_sync(caller, request);
}

void StepCoordinator::commit_sync(Caller caller, const CommitRequest& request) {
  if (!takes_part(caller.worker)) {
    return answer(caller, PsVerdict::done,
                  Error{Errc::input, format("{} has no rank, so that synchronous steps do not "
                                            "wait for it; it can only pull",
                                            name(caller.worker))});
  }
  if (request.mode != mode_) return answer(caller, PsVerdict::mode_changed);
  if (stale_push(caller.worker, request.round)) return answer(caller, PsVerdict::stale);
  waiting_.emplace(caller.worker, caller.request);
  committed_.insert(caller.worker);
  decide();
}

void StepCoordinator::commit_bounded(Caller caller, const CommitRequest& request) {
  if (!takes_part(caller.worker) || request.mode != mode_) return answer(caller, PsVerdict::done);
  ++states_[caller.worker].clock;
  waiting_.emplace(caller.worker, caller.request);
  review_bounded();
}

/// Returns of how many workers a round has the gradients. With workers to spare, some come to their
/// end, or to a barrier, before others, which then train without them.
size_t StepCoordinator::needed() const {
  size_t all = 0;
  size_t left = 0;
  for (uint32_t worker = 0; worker < states_.size(); ++worker) {
    all += takes_part(worker) ? 1 : 0;
    left += takes_part(worker) && states_[worker].left ? 1 : 0;
  }
  if (mode_.count >= all) return all;
  return std::min<size_t>(mode_.count, all - left - in_barrier_.size());
}

/// Ends the round when enough workers have committed, or when that is impossible.
void StepCoordinator::decide() {
  if (mode_.kind != PsMode::Kind::sync || committed_.empty()) return;
  if (committed_.size() < needed()) {
    size_t able = committed_.size();
    for (uint32_t worker = 0; worker < states_.size(); ++worker)
      able += can_commit(worker) && !committed_.contains(worker) ? 1 : 0;
    if (able >= needed()) return;
    const Error why = too_few(able);
    for (const auto& [worker, request] : std::exchange(waiting_, {})) {
      committed_.erase(worker);
      answer({worker, request}, PsVerdict::done, why);
    }
    return;
  }
  decision_ = {.round = decision_.round + 1, .workers = {committed_.begin(), committed_.end()}};
  for (const uint32_t worker : committed_)
    ++states_[worker].pushes;
  count_staleness(step_);
  ++step_;
  committed_.clear();
  for (const auto& [worker, request] : std::exchange(waiting_, {}))
    answer({worker, request}, PsVerdict::done);
}

/// A worker in a barrier waits there for those that have committed.
bool StepCoordinator::can_commit(uint32_t worker) const {
  return takes_part(worker) && states_[worker].lives && !in_barrier_.contains(worker);
}

Error StepCoordinator::too_few(size_t able) const {
  std::string why = "no worker trains";
  bool named = false;
  for (uint32_t worker = 0; worker < states_.size(); ++worker) {
    if (!takes_part(worker) || can_commit(worker) || committed_.contains(worker)) continue;
    // A death is the better reason.
    if (states_[worker].left && std::exchange(named, true)) continue;
    named = true;
    why = format("{} {}", name(worker),
                 states_[worker].lives ? "waits in a barrier" : states_[worker].end);
  }
  return {Errc::peer_lost, format("a step needs the gradients of {} workers, and {} are left: {}",
                                  needed(), able, why)};
}

/// Returns the clock of the slowest worker that lives; none: no worker lives.
std::optional<uint64_t> StepCoordinator::slowest_clock() const {
  std::optional<uint64_t> slowest;
  for (uint32_t worker = 0; worker < states_.size(); ++worker) {
    if (!takes_part(worker) || !states_[worker].lives) continue;
    slowest = std::min(slowest.value_or(states_[worker].clock), states_[worker].clock);
  }
  return slowest;
}

void StepCoordinator::review_bounded() {
  if (mode_.kind != PsMode::Kind::bounded) return;
  const std::optional<uint64_t> slowest = slowest_clock();
  std::erase_if(waiting_, [&](const auto& entry) {
    const auto& [worker, request] = entry;
    const uint64_t clock = states_[worker].clock;
    if (clock - std::min(clock, slowest.value_or(clock)) > mode_.count) return false;
    answer({worker, request}, PsVerdict::done);
    return true;
  });
}

void StepCoordinator::barrier(Caller caller) {
  if (!takes_part(caller.worker) || in_barrier_.contains(caller.worker)) {
    return answer(caller, PsVerdict::done,
                  Error{Errc::input, format("{} cannot take part in the barrier: it has no rank, "
                                            "or waits there already",
                                            name(caller.worker))});
  }
  in_barrier_.emplace(caller.worker, caller.request);
  review_barrier();
  decide();
}

/// Ends the barrier when all workers that live or return have reached it.
void StepCoordinator::review_barrier() {
  for (uint32_t worker = 0; worker < states_.size(); ++worker) {
    const bool expected = states_[worker].lives || states_[worker].returns;
    if (takes_part(worker) && expected && !in_barrier_.contains(worker)) return;
  }
  for (const auto& [worker, request] : std::exchange(in_barrier_, {}))
    answer({worker, request}, PsVerdict::done);
}

void StepCoordinator::connected(uint32_t worker) {
  states_[worker].lives = true;
  states_[worker].left = false;
  states_[worker].returns = false;
  waiting_.erase(worker);
  committed_.erase(worker);
  in_barrier_.erase(worker);
}

void StepCoordinator::restarted(uint32_t worker) {
  State& state = states_[worker];
  state.lives = false;
  state.returns = true;
  committed_.erase(worker);
  waiting_.erase(worker);
  in_barrier_.erase(worker);
  // It begins with the newest values: nobody waits until it has done as many steps as others.
  state.clock = std::max(state.clock, slowest_clock().value_or(0));
  review_bounded();
  review_barrier();
}

void StepCoordinator::left(uint32_t worker, const std::string& how) {
  if (!states_[worker].lives) return;
  states_[worker].left = true;
  end(worker, how, false);
}

void StepCoordinator::gone(uint32_t worker, const std::string& why, bool returns) {
  State& state = states_[worker];
  // The first death counts. A worker that has left may fail afterwards.
  if (!state.lives && !state.returns && !std::exchange(state.left, false)) return;
  end(worker, why, returns);
}

void StepCoordinator::end(uint32_t worker, const std::string& why, bool returns) {
  State& state = states_[worker];
  state.lives = false;
  state.returns = returns;
  state.end = why;
  waiting_.erase(worker);
  in_barrier_.erase(worker);
  decide();
  review_bounded();
  review_barrier();
}

std::vector<StepCoordinator::Answer> StepCoordinator::take_answers() {
  return std::exchange(answers_, {});
}

void StepCoordinator::count_into(PsStatus& status) const {
  status.staleness = staleness_;
  for (const State& state : states_) {
    status.pushes.push_back(state.pushes);
    status.stale.push_back(state.stale);
  }
}

}  // namespace dt
