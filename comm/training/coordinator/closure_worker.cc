#include "comm/training/coordinator/closure_worker.h"

#include "base/format.h"
#include "base/running_time_clock.h"
#include "base/text.h"
#include "comm/peer/server_dial.h"
#include "comm/peer/task_dial.h"
#include "comm/training/coordinator/coordinator.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace dt {

namespace {

/// How long a broken connection waits for the notice that explains it.
constexpr Duration notice_max = milliseconds(700);

}  // namespace

ClosureWorker::ClosureWorker(Options options) : options_(std::move(options)) {
}

Result<> ClosureWorker::serve(Time deadline) {
  const auto& tasks = options_.rendezvous->table().tasks;
  // Indices may have holes: the lowest one is the coordinator's.
  for (const TaskEntry& task : tasks) {
    const bool first = coordinator_.id.role.empty() || task.id.index < coordinator_.id.index;
    if (task.id.role == options_.coordinator && first) coordinator_ = task;
  }
  if (coordinator_.id.role.empty()) {
    return fail(Errc::input, format("the job has no task of role {}, which would coordinate; start "
                                    "it by --role {}=1",
                                    options_.coordinator, options_.coordinator));
  }
  const TaskDial dial = {
      .claim = options_.claim,
      .peer = coordinator_,
      .key = coordinator_endpoint_key(coordinator_.id),
      .absent = format("{} has not started a coordinator in time", describe_task(coordinator_)),
      .message_bytes_max = closure_message_bytes_max,
      .dead_after = options_.dead_after,
      .check = [this] { return check(); }};
  auto connected = dial_task(*options_.rendezvous, dial, deadline);
  if (!connected && left_) return {};
  if (!connected) return tl::unexpected(std::move(connected).error());
  connection_ = *std::move(connected);
  // News may have come with the answers to the dial. No descriptor reports it any more.
  const Result<> checked = check();
  if (!checked) return left_ ? Result<>() : checked;
  while (true) {
    const Received received = TRY(receive());
    const auto* const closure = std::get_if<RunClosure>(&received.message);
    if (closure == nullptr) return {};
    TRY(send(received.number, run(*closure)));
  }
}

/// Fails when the coordinator's task has ended.
Result<> ClosureWorker::check() {
  if (const Result<> refreshed = options_.rendezvous->refresh(); !refreshed)
    return fail(Errc::peer_lost, format("the launcher is lost: {}", refreshed.error().message));
  while (const auto notice = options_.rendezvous->next_notice()) {
    if (notice->task != coordinator_.id) continue;
    left_ = notice->kind == Notice::Kind::left;
    return fail(Errc::peer_lost,
                format("the coordinator {} {}", describe_task(coordinator_),
                       left_ ? "has left the job" : "died: " + printable(notice->cause)));
  }
  return {};
}

Result<ClosureWorker::Received> ClosureWorker::receive() {
  while (true) {
    const Result<> advanced = connection_->advance();
    if (auto message = connection_->take()) {
      ClosureMessage decoded = TRY(decode_closure_message(*message->body));
      return Received{message->id, std::move(decoded)};
    }
    if (!advanced) TRY(lost(advanced.error()));
    if (left_) return Received{0, EndClosures()};
    TRY(wait(false));
  }
}

Result<> ClosureWorker::send(uint32_t number, const ClosureOutcome& outcome) {
  // A coordinator that ends reads no outcome, and its message is here before its connection breaks.
  const Result<> sent = connection_->send(number, encode(outcome));
  while (sent && connection_->outgoing() > 0) {
    const Result<> advanced = connection_->advance();
    if (!advanced || left_) return {};  // receive() finds the reason
    if (connection_->outgoing() > 0) TRY(wait(true));
  }
  return {};
}

/// Waits for the connection or for news of the coordinator's task.
Result<> ClosureWorker::wait(bool sends) {
  pollfd fds[] = {{.fd = connection_->fd(),
                   .events = static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN),
                   .revents = 0},
                  {.fd = options_.rendezvous->fd(), .events = POLLIN, .revents = 0}};
  const Time now = Clock::now();
  poll(fds, std::size(fds), poll_ms(now, connection_->free_unused_memory(now)));
  // Messages that came before the news count.
  if (fds[0].revents != 0) return {};
  const Result<> checked = check();
  return left_ ? Result<>() : checked;
}

/// Returns when the coordinator has left, and fails otherwise, with the reason.
Result<> ClosureWorker::lost(const Error& why) {
  const Time deadline = Clock::now() + std::min(options_.dead_after, notice_max);
  Deadline until(deadline);
  while (why.code != Errc::protocol && !left_ && !until.passed()) {
    const Result<> checked = check();
    if (left_) break;
    TRY(checked);
    TRY(await_news(*options_.rendezvous, deadline));
  }
  if (left_) return {};
  return fail(Errc::peer_lost, format("the connection to the coordinator {} is broken: {}",
                                      describe_task(coordinator_), why.message));
}

ClosureOutcome ClosureWorker::run(const RunClosure& closure) const {
  const auto at = options_.closures.find(closure.name);
  if (at == options_.closures.end()) {
    std::vector<std::string> names;
    for (const auto& [name, function] : options_.closures)
      names.push_back(printable(name));
    return {.error = Error{Errc::input,
                           names.empty() ? "this worker has no closures"
                                         : format("this worker has no closure of that name; it has "
                                                  "{}",
                                                  join(names, ", "))}};
  }
  ClosureOutcome outcome = at->second(closure.argument);
  if (!outcome.error && outcome.result.size() > closure_bytes_max) {
    return {.error = Error{Errc::refused, format("its result has {} bytes, at most {} are possible",
                                                 outcome.result.size(), closure_bytes_max)}};
  }
  return outcome;
}

}  // namespace dt
