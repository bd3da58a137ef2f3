#include "comm/training/ps/state/worker_sessions.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

WorkerSessions::WorkerSessions(const std::vector<PsWorker>& workers, size_t requests_max)
    : requests_max_(requests_max) {
  for (const PsWorker& worker : workers)
    workers_.push_back({.id = worker.id, .host = worker.host});
}

std::optional<uint32_t> WorkerSessions::find(const TaskId& task) const {
  const auto at = std::ranges::find(workers_, task, &Worker::id);
  if (at == workers_.end()) return std::nullopt;
  return static_cast<uint32_t>(at - workers_.begin());
}

std::string WorkerSessions::name(uint32_t worker) const {
  return format("{} on {}", workers_[worker].id.text(), printable(workers_[worker].host));
}

bool WorkerSessions::gone(uint32_t worker) const {
  const std::optional<Notice>& end = workers_[worker].end;
  return end && !end->returns;
}

std::string WorkerSessions::ending(uint32_t worker) const {
  const Notice& end = *workers_[worker].end;
  return end.kind == Notice::Kind::left ? "has left" : format("died: {}", printable(end.cause));
}

Result<> WorkerSessions::check_attempt(uint32_t worker, uint32_t attempt) const {
  const uint32_t last = workers_[worker].attempt;
  if (attempt >= last) return {};
  return fail(Errc::refused, format("attempt {} of {} has ended, and attempt {} has begun", attempt,
                                    name(worker), last));
}

Result<> WorkerSessions::check_current(uint32_t worker, uint32_t attempt) const {
  TRY(check_attempt(worker, attempt));
  if (!workers_[worker].end) return {};
  return fail(Errc::refused,
              format("{} {}, so its requests are refused", name(worker), ending(worker)));
}

void WorkerSessions::restart(uint32_t worker, uint32_t attempt) {
  Worker& state = workers_[worker];
  state.attempt = attempt;
  state.end.reset();
  state.under_way = 0;
  state.session = {};
}

bool WorkerSessions::end(uint32_t worker, const Notice& notice) {
  Worker& state = workers_[worker];
  if (notice.attempt < state.attempt) return false;
  if (state.end && (!state.end->returns || notice.returns)) return false;
  state.end = notice;
  state.under_way = 0;
  return true;
}

bool WorkerSessions::begin(uint32_t worker, uint64_t session) {
  Worker& state = workers_[worker];
  state.session.resumed = state.session.id == session;
  if (state.session.resumed) return false;
  state.session.id = session;
  state.session.last = 0;
  state.under_way = 0;
  return true;
}

Result<> WorkerSessions::check_requests(uint32_t worker) const {
  const size_t under_way = workers_[worker].under_way;
  if (under_way <= requests_max_) return {};
  return fail(Errc::refused, format("{} has {} requests under way, more than {}", name(worker),
                                    under_way, requests_max_));
}

bool WorkerSessions::take_reply(uint32_t worker) {
  size_t& under_way = workers_[worker].under_way;
  if (under_way == 0) return false;
  --under_way;
  return true;
}

void WorkerSessions::begin_change(uint32_t worker, uint32_t request) {
  Session& session = workers_[worker].session;
  session.last = request;
  session.answer.reset();
}

void WorkerSessions::keep_answer(uint32_t worker, uint32_t request, PsReply answer) {
  Session& session = workers_[worker].session;
  if (session.last != request) return;
  answer.values.clear();
  answer.later.clear();
  answer.owners.clear();
  session.answer = std::move(answer);
}

bool WorkerSessions::repeats(uint32_t worker, uint32_t request) const {
  const Session& session = workers_[worker].session;
  return session.resumed && session.last == request;
}

const PsReply* WorkerSessions::answer(uint32_t worker) const {
  const std::optional<PsReply>& answer = workers_[worker].session.answer;
  return answer ? &*answer : nullptr;
}

}  // namespace dt
