#include "comm/driver/staged_operations.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

bool is_message(OperationKind kind) {
  return kind == OperationKind::send || kind == OperationKind::receive;
}

/// A list without a name matches by its order among such lists.
bool is_unnamed_list(const OperationRequest& request) {
  return !request.tensors.empty() && request.name.empty();
}

/// True when the engine must get `earlier` before `later`.
bool in_order(const OperationRequest& earlier, const OperationRequest& later) {
  if (earlier.group != later.group) return false;
  if (is_message(earlier.kind) || is_message(later.kind))
    return earlier.kind == later.kind && earlier.peer == later.peer;
  if (!is_collective(earlier.kind) || !is_collective(later.kind)) return false;
  const bool joins = earlier.kind == OperationKind::join || later.kind == OperationKind::join;
  const bool named = matches_by_name(earlier) && matches_by_name(later);
  if (named) return joins || (is_unnamed_list(earlier) && is_unnamed_list(later));
  return !matches_by_name(earlier) && !matches_by_name(later);
}

}  // namespace

bool StagedOperations::must_wait(const Operation& operation, size_t before) const {
  for (size_t i = 0; i < before; ++i) {
    const Entry& entry = entries_[i];
    const bool submitted = entry.phase != Phase::waits && entry.phase != Phase::prepares;
    if (!submitted && in_order(entry.work->request, operation.request)) return true;
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
  return entry.phase == Phase::results && entry.call()->copies->others_wait();
}

bool StagedOperations::copies() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    return entry.call() != nullptr && entry.phase != Phase::played;
  });
}

bool StagedOperations::has_group(uint32_t group) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.work->request.group == group; });
}

bool StagedOperations::others_work() const {
  return std::ranges::any_of(entries_, works_with_others);
}

void StagedOperations::stop(const OperationFailure& why) {
  for (const Entry& entry : entries_) {
    if (!works_with_others(entry)) continue;
    entry.work->blamed_rank = why.blamed_rank;
    entry.call()->copies->stop({why.code, why.reason});
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
  bool moved = false;
  if (entries_[index].phase <= Phase::prepares) moved |= begin(index, submit, result);
  if (entries_[index].phase == Phase::played) moved |= play(entries_[index]);
  if (entries_[index].phase == Phase::results) moved |= copy_results(entries_[index], result);
  return moved;
}

bool StagedOperations::begin(size_t index, const Submit& submit, Result<>& result) {
  Entry& entry = entries_[index];
  StagedCall* const call = entry.call();
  if (entry.phase == Phase::waits && must_wait(*entry.work, index)) return false;
  if (call == nullptr) {
    entry.phase = Phase::ended;
    submit(entry.work);
    return true;
  }
  if (entry.phase == Phase::waits) {
    if (const Work before = call->copies->before()) {
      entry.phase = Phase::prepares;
      submit(before);
    }
  }
  const Result<bool> copied = call->copies->input_copied();
  if (copied && !*copied) return false;
  if (!copied) {
    if (call->copies->others_wait()) result = tl::unexpected(copied.error());
    entry.work->blamed_rank = call->copies->blamed_rank();
    end(entry, tl::unexpected(copied.error()));
    return true;
  }
  entry.phase = Phase::played;
  submit(call->played);
  return true;
}

bool StagedOperations::play(Entry& entry) {
  StagedCall& call = *entry.call();
  const Operation& played = *call.played;
  if (!played.outcome) return false;
  entry.work->times.started = played.times.started;
  entry.work->blamed_rank = played.blamed_rank;
  Result<> outcome = *played.outcome;
  if (outcome) outcome = call.copies->start_results();
  entry.phase = Phase::results;
  if (!outcome) end(entry, std::move(outcome));
  return true;
}

bool StagedOperations::copy_results(Entry& entry, Result<>& result) {
  const Result<bool> copied = entry.call()->copies->results_copied();
  if (copied && !*copied) {
    if (auto why = entry.call()->copies->failing()) result = tl::unexpected(*std::move(why));
    return false;
  }
  if (!copied && entry.call()->copies->others_wait()) result = tl::unexpected(copied.error());
  end(entry, copied ? Result<>() : Result<>(tl::unexpected(copied.error())));
  return true;
}

void StagedOperations::end(Entry& entry, Result<> outcome) {
  Operation& work = *entry.work;
  entry.phase = Phase::ended;
  work.staged->copies->release();
  work.staged.reset();
  work.outcome.emplace(std::move(outcome));
  if (work.clock != nullptr) work.times.ended = work.clock();
}

void StagedOperations::finish() {
  // The copies of one may follow others on their stream.
  for (const Entry& entry : entries_)
    if (entry.call() != nullptr) entry.call()->copies->release();
  for (const Entry& entry : entries_)
    if (entry.call() != nullptr) entry.call()->copies->finish();
  entries_.clear();
}

}  // namespace dt
