#include "comm/driver/staged_operations.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// After a rank has left, NCCL's kernels here end in microseconds, or never.
constexpr Duration leave_grace = seconds(2);

bool is_message(OperationKind kind) {
  return kind == OperationKind::send || kind == OperationKind::receive;
}

/// True when the engine must get `earlier` before `later`. Lists without a name match by their
/// order among such lists.
bool in_order(const OperationRequest& earlier, const OperationRequest& later) {
  if (earlier.group != later.group) return false;
  if (is_message(earlier.kind) || is_message(later.kind))
    return earlier.kind == later.kind && earlier.peer == later.peer;
  if (!is_collective(earlier.kind) || !is_collective(later.kind)) return false;
  const bool joins = earlier.kind == OperationKind::join || later.kind == OperationKind::join;
  const bool named = matches_by_name(earlier) && matches_by_name(later);
  if (named) return joins || earlier.name == later.name;
  return !matches_by_name(earlier) && !matches_by_name(later);
}

}  // namespace

bool StagedOperations::must_wait(const Operation& operation, size_t before) const {
  for (size_t i = 0; i < before; ++i) {
    const Entry& entry = entries_[i];
    const bool joins = operation.request.kind == OperationKind::join && entry.announced;
    const bool passed = entry.passed || joins || entry.phase >= Phase::results;
    if (!passed && in_order(entry.work->request, operation.request)) return true;
  }
  return false;
}

bool StagedOperations::concerns(const Operation& operation) const {
  return operation.staged != nullptr || must_wait(operation, entries_.size());
}

void StagedOperations::add(Work work) {
  entries_.push_back({std::move(work)});
}

bool StagedOperations::works_with_others(const Entry& entry) {
  return entry.phase == Phase::results && entry.copies()->others_wait();
}

bool StagedOperations::copies() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    return entry.copies() != nullptr && entry.running == nullptr;
  });
}

bool StagedOperations::compares() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    return entry.phase == Phase::results && entry.running != nullptr;
  });
}

bool StagedOperations::has_group(uint32_t group) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.work->request.group == group; });
}

void StagedOperations::stop_lost(const Engine& engine, Time now) {
  for (Entry& entry : entries_) {
    if (!works_with_others(entry)) continue;
    const auto lost = engine.lost(entry.work->request.group, entry.copies()->has_slot());
    if (!lost) {
      entry.lost_at.reset();
      continue;
    }
    if (!entry.lost_at) entry.lost_at = now;
    if (engine.aborted() == nullptr && now - *entry.lost_at < leave_grace) continue;
    entry.work->blamed_rank = lost->blamed_rank;
    entry.copies()->stop({lost->code, lost->reason});
  }
}

StagedOperations::Progress StagedOperations::step(const Submit& submit) {
  Progress progress;
  for (size_t i = 0; i < entries_.size(); ++i)
    progress.moved |= advance(i, submit, progress.result);
  std::erase_if(entries_, [](const Entry& entry) { return entry.phase == Phase::ended; });
  return progress;
}

bool StagedOperations::advance(size_t index, const Submit& submit, Result<>& result) {
  Entry& entry = entries_[index];
  bool moved = entry.phase == Phase::waits && begin(index, submit);
  while (entry.phase == Phase::steps && take_step(entry, submit, result))
    moved = true;
  if (entry.phase == Phase::results) moved |= copy_results(entry, result);
  return moved;
}

/// Returns true when the engine gets an operation on memory of the host.
bool StagedOperations::begin(size_t index, const Submit& submit) {
  Entry& entry = entries_[index];
  if (must_wait(*entry.work, index)) return false;
  entry.phase = Phase::steps;
  if (entry.copies() != nullptr) return false;
  entry.phase = Phase::ended;
  submit(entry.work);
  return true;
}

/// Returns false while there is nothing to do.
bool StagedOperations::take_step(Entry& entry, const Submit& submit, Result<>& result) {
  if (entry.running) {
    const Result<bool> ended = end_executed(entry);
    if (!ended) end(entry, tl::unexpected(ended.error()));
    return !ended || *ended;
  }
  Result<DeviceStep> next = entry.copies()->next();
  if (!next) {
    if (entry.copies()->others_wait()) result = tl::unexpected(next.error());
    end(entry, tl::unexpected(std::move(next).error()));
    return true;
  }
  entry.passed = entry.passed || next->passes;
  switch (next->kind) {
    case DeviceStep::Kind::waits:
      return false;
    case DeviceStep::Kind::runs:
      run(entry, std::move(next->executed), submit);
      return true;
    case DeviceStep::Kind::results:
      break;
  }
  if (Result<> started = entry.copies()->start_results(); !started) {
    end(entry, std::move(started));
    return true;
  }
  entry.phase = Phase::results;
  if (next->executed) run(entry, std::move(next->executed), submit);
  return true;
}

void StagedOperations::run(Entry& entry, Work executed, const Submit& submit) const {
  entry.running = std::move(executed);
  entry.running->clock = entry.work->clock;
  entry.running->request.blocks = entry.work->request.blocks && can_block(entry);
  entry.announced = true;
  submit(entry.running);
}

/// True when the program's thread blocks in this call, and the engine gets no call by name before
/// it ends. Calls whose input is late follow, and slots of calls without a name.
bool StagedOperations::can_block(const Entry& entry) const {
  if (!matches_by_name(entry.running->request)) return true;
  if (!matches_by_name(entry.work->request)) return false;
  return std::ranges::none_of(entries_, [&](const Entry& other) {
    const bool follows = other.phase <= Phase::steps && other.running == nullptr;
    return &other != &entry && follows && matches_by_name(other.work->request);
  });
}

/// Returns false while the engine runs. Fails when that failed.
Result<bool> StagedOperations::end_executed(Entry& entry) {
  if (!entry.running->outcome) return false;
  const Work executed = std::exchange(entry.running, nullptr);
  if (entry.work->times.started == Time()) entry.work->times.started = executed->times.started;
  if (*executed->outcome) return true;
  entry.work->blamed_rank = executed->blamed_rank;
  return tl::unexpected(executed->outcome->error());
}

bool StagedOperations::copy_results(Entry& entry, Result<>& result) {
  if (entry.running) {
    const Result<bool> ended = end_executed(entry);
    if (!ended) entry.copies()->stop(entry.differs.emplace(ended.error()));
  }
  const Result<bool> copied = entry.copies()->results_copied();
  if (copied && (!*copied || entry.running)) {
    if (auto why = entry.copies()->failing()) result = tl::unexpected(*std::move(why));
    return false;
  }
  if (!copied && entry.copies()->others_wait()) result = tl::unexpected(copied.error());
  Result<> outcome;
  if (!copied) outcome = tl::unexpected(copied.error());
  if (entry.differs) outcome = tl::unexpected(*entry.differs);
  end(entry, std::move(outcome));
  return true;
}

void StagedOperations::end(Entry& entry, Result<> outcome) {
  Operation& work = *entry.work;
  entry.phase = Phase::ended;
  work.staged->release();
  work.staged.reset();
  work.outcome.emplace(std::move(outcome));
  if (work.clock != nullptr) work.times.ended = work.clock();
}

void StagedOperations::finish() {
  // The copies of one may follow others on their stream.
  for (const Entry& entry : entries_)
    if (entry.copies() != nullptr) entry.copies()->release();
  for (const Entry& entry : entries_)
    if (entry.copies() != nullptr) entry.copies()->finish();
  entries_.clear();
}

}  // namespace dt
