#include "comm/training/coordinator/closure_schedule.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/peer/server_dial.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

ClosureSchedule::ClosureSchedule(Options options) : options_(std::move(options)) {
  for (const TaskEntry& task : options_.workers)
    workers_.push_back({.task = task});
}

Result<uint64_t> ClosureSchedule::add(std::string_view name, ByteSpan argument, bool kept) {
  TRY(check_closure_name(name));
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::refused, format("closure \"{}\" is not scheduled: {}", printable(name), why));
  };
  if (argument.size() > closure_bytes_max)
    return refuse(format("its argument has {} bytes, at most {} are possible", argument.size(),
                         closure_bytes_max));
  if (stopped_) {
    Error error = *stopped_;
    return tl::unexpected(
        std::move(error).during(format("closure \"{}\" is not scheduled", printable(name))));
  }
  if (closures_.size() + ends_.size() >= options_.closures_max)
    return refuse(format("{} are unfinished or wait for a fetch, the maximum",
                         closures_.size() + ends_.size()));
  Bytes message = encode(RunClosure{std::string(name), {argument.begin(), argument.end()}});
  if (message.size() > options_.bytes_max - std::min(options_.bytes_max, held_bytes_)) {
    return refuse(format("the arguments and results of others have {} bytes, and all may have {}",
                         held_bytes_, options_.bytes_max));
  }
  held_bytes_ += message.size();
  const uint64_t number = ++last_closure_;
  closures_.emplace(number, Closure{.name = std::string(name),
                                    .kept = kept,
                                    .message = std::make_shared<const Bytes>(std::move(message))});
  waiting_.push_back(number);
  return number;
}

void ClosureSchedule::connected(size_t worker) {
  Worker& self = workers_[worker];
  stop(self, Worker::State::idle);
  idle_.push_back(worker);
}

void ClosureSchedule::disconnected(size_t worker, Time now) {
  Worker& self = workers_[worker];
  if (self.state == Worker::State::gone) return;
  stop(self, Worker::State::lost);
  self.lost_at = now;
}

std::optional<size_t> ClosureSchedule::gone(const Notice& notice) {
  const auto at =
      std::ranges::find(workers_, notice.task, [](const Worker& worker) { return worker.task.id; });
  if (at == workers_.end()) return std::nullopt;
  stop(*at, Worker::State::gone);
  at->cause =
      notice.kind == Notice::Kind::left ? "has left the job" : "died: " + printable(notice.cause);
  review();
  return static_cast<size_t>(at - workers_.begin());
}

/// Its closure, if it runs one, is the next for another worker.
void ClosureSchedule::stop(Worker& worker, Worker::State state) {
  if (worker.state == Worker::State::running && running_.erase(worker.closure) > 0)
    waiting_.push_front(worker.closure);
  std::erase(idle_, static_cast<size_t>(&worker - workers_.data()));
  worker.state = state;
}

Result<> ClosureSchedule::finished(size_t worker, uint32_t dispatch, ClosureOutcome outcome) {
  Worker& self = workers_[worker];
  if (self.state != Worker::State::running || self.dispatch != dispatch) {
    return fail(Errc::protocol,
                format("{} has ended a closure that it does not run", describe_task(self.task)));
  }
  self.state = Worker::State::idle;
  idle_.push_back(worker);
  const uint64_t number = self.closure;
  if (running_.erase(number) == 0) return {};  // it has failed with all others
  Result<Bytes> result = std::move(outcome.result);
  if (outcome.error) {
    outcome.error->blamed_rank = self.task.rank;
    result = tl::unexpected(
        std::move(*outcome.error)
            .during(format("closure \"{}\", on {}", printable(closures_.at(number).name),
                           describe_task(self.task))));
  }
  end(number, std::move(result));
  return {};
}

/// The closure is neither waiting nor running any more.
void ClosureSchedule::end(uint64_t number, Result<Bytes> result) {
  const auto at = closures_.find(number);
  held_bytes_ -= at->second.message->size();
  const bool kept = at->second.kept;
  closures_.erase(at);
  if (!result && failure_) ++later_failures_;
  if (!result && !failure_) failure_ = result.error();
  if (!kept) return;
  if (result) held_bytes_ += result->size();
  ends_.emplace(number, std::move(result));
}

void ClosureSchedule::advance(Time now) {
  for (Worker& worker : workers_) {
    if (worker.state != Worker::State::lost || now < worker.lost_at + options_.notice_max) continue;
    worker.state = Worker::State::gone;
    worker.cause = "has closed its connection";
  }
  review();
}

Time ClosureSchedule::next_deadline() const {
  Time next = Time::max();
  for (const Worker& worker : workers_)
    if (worker.state == Worker::State::lost)
      next = std::min(next, worker.lost_at + options_.notice_max);
  return next;
}

void ClosureSchedule::review() {
  const auto left = static_cast<size_t>(std::ranges::count_if(
      workers_, [](const Worker& worker) { return worker.state != Worker::State::gone; }));
  if (left >= options_.workers_min || stopped_) return;
  std::vector<std::string> causes;
  int blamed_rank = -1;
  for (const Worker& worker : workers_) {
    if (worker.state != Worker::State::gone) continue;
    causes.push_back(format("{} {}", describe_task(worker.task), worker.cause));
    blamed_rank = worker.task.rank;
  }
  stopped_ = Error{Errc::peer_lost,
                   format("the coordinator needs {} workers, and {} are left: {}",
                          options_.workers_min, left, join(causes, ", ")),
                   blamed_rank};
  // Workers that are left may still send the outcomes of closures that they run.
  waiting_.clear();
  running_.clear();
  while (!closures_.empty()) {
    const uint64_t number = closures_.begin()->first;
    Error error = *stopped_;
    const std::string name = printable(closures_.at(number).name);
    end(number, tl::unexpected(std::move(error).during(format("closure \"{}\"", name))));
  }
}

std::vector<ClosureSchedule::Dispatch> ClosureSchedule::take_dispatches() {
  std::vector<Dispatch> dispatches;
  while (!waiting_.empty() && !idle_.empty()) {
    const size_t at = idle_.front();
    idle_.pop_front();
    Worker& worker = workers_[at];
    worker.closure = waiting_.front();
    waiting_.pop_front();
    worker.dispatch = ++last_dispatch_;
    worker.state = Worker::State::running;
    running_.emplace(worker.closure, at);
    dispatches.push_back({at, worker.dispatch, closures_.at(worker.closure).message});
  }
  return dispatches;
}

bool ClosureSchedule::any_absent() const {
  return std::ranges::any_of(
      workers_, [](const Worker& worker) { return worker.state == Worker::State::absent; });
}

bool ClosureSchedule::any_unexplained() const {
  return std::ranges::any_of(
      workers_, [](const Worker& worker) { return worker.state == Worker::State::lost; });
}

ClosureSchedule::State ClosureSchedule::state(uint64_t closure) const {
  if (ends_.contains(closure)) return State::finished;
  const auto at = closures_.find(closure);
  return at != closures_.end() && at->second.kept ? State::unfinished : State::unknown;
}

Result<Bytes> ClosureSchedule::fetch(uint64_t closure) {
  const auto at = ends_.find(closure);
  assert(at != ends_.end());
  Result<Bytes> result = std::move(at->second);
  ends_.erase(at);
  if (result) held_bytes_ -= result->size();
  return result;
}

std::optional<Error> ClosureSchedule::take_failure() {
  std::optional<Error> failure = std::exchange(failure_, std::nullopt);
  const size_t later = std::exchange(later_failures_, 0);
  if (failure && later > 0)
    failure->message += format("; {} more closures have failed after it", later);
  return failure;
}

std::string ClosureSchedule::describe_unfinished(std::optional<uint64_t> closure) const {
  const uint64_t number = closure.value_or(closures_.empty() ? 0 : closures_.begin()->first);
  const auto at = closures_.find(number);
  if (at == closures_.end()) return format("closure {}", number);
  const std::string name = format("closure \"{}\"", printable(at->second.name));
  const auto run = running_.find(number);
  if (run == running_.end()) return name + ", which waits for a worker,";
  return format("{}, on {},", name, describe_task(workers_[run->second].task));
}

}  // namespace dt
