#include "comm/group/watchdog.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <string>

namespace dt {

namespace {

using State = CallCheck::State;

/// Other ranks wait this much longer than their timeout for the stop that names the missing ranks.
constexpr Duration verdict_grace = milliseconds(250);
/// A rank may get rank 0's verdict this long after another rank, which has left since.
constexpr Duration verdict_under_way = milliseconds(250);

}  // namespace

Time Watchdog::front_expires_at() const {
  const auto& [peers, queue, check, communicators, stop] = watched_;
  const Time end = deadline(queue.front());
  const bool agreeing = check.awaits_verdict() || check.state() == State::late;
  const bool comparing = check.runs() && communicators.current().any_missing();
  if (!agreeing && !comparing) return end;
  // One rank names the missing ranks, by the first time limit of all calls that it has seen. In an
  // agreement this is rank 0, by the limits that the descriptors have.
  if (agreeing && peers.rank() == 0) return Time::max();
  if (comparing && is_first_caller()) return communicators.current().first_limit().end;
  return end == Time::max() ? end : end + verdict_grace;
}

/// True when no lower rank has made the call of the running collective, as far as this one knows.
bool Watchdog::is_first_caller() const {
  for (int rank = 0; rank < watched_.peers.rank(); ++rank)
    if (!watched_.communicators.current().needs(rank)) return false;
  return true;
}

void Watchdog::expire(Time now) {
  const OperationQueue& queue = watched_.queue;
  if (queue.empty()) return;
  if (front_expires_at() <= now) return time_out(queue.front());
  if (const Operation* late = queue.overdue_behind_front(now)) time_out(*late);
}

void Watchdog::time_out(const Operation& operation) {
  const auto& [peers, queue, check, communicators, stop] = watched_;
  const Communicator& running = communicators.current();
  std::string reason = "timed out after " + duration_text(operation.request.timeout);
  int blamed = -1;
  if (&operation != &queue.front() || check.state() == State::none) {
    reason += format(" on {} behind {}", peers.name(peers.rank()), label(queue.front()));
  } else if (check.awaits_verdict()) {
    blamed = peers.job_rank(0);
    reason += format(": {} has not answered", peers.name(0));
  } else if (running.any_missing()) {
    const std::vector<int> missing = running.missing();
    blamed = peers.job_rank(missing.front());
    reason = missing_text(peers, running.first_limit().timeout, missing);
  } else {
    const int awaited = running.waits_for();
    reason += " on " + peers.name(peers.rank());
    if (awaited >= 0) reason += ", waiting for " + peers.name(awaited);
    if (awaited >= 0) blamed = peers.job_rank(awaited);
  }
  stop.raise({operation.sequence,
              {Errc::timeout, blamed, reason},
              format("not possible after {} timed out", label(operation))});
}

Time Watchdog::next_deadline() const {
  const OperationQueue& queue = watched_.queue;
  if (queue.empty()) return Time::max();
  const Time blame = watched_.check.runs() ? leaver_blamed_at_ : Time::max();
  return std::min({blame, front_expires_at(), queue.next_limit()});
}

/// A late collective has a link to the rank that it waits for.
bool Watchdog::stop_without_needed(Time now) {
  const auto& [peers, queue, check, communicators, stop] = watched_;
  if (check.awaits_verdict()) {
    if (peers.rank() == 0 || !peers.gone(0)) return false;
    stop.raise_lost(queue.first_sequence(), 0);
    return true;
  }
  const Communicator& running = communicators.current();
  const int awaited = running.waits_for();
  if (awaited >= 0 && check.state() != State::exchanging) peers.connect(awaited);
  for (int rank = 0; rank < peers.size(); ++rank) {
    const bool needed = running.needs(rank) || (rank == 0 && may_miss_verdict());
    if (!peers.gone(rank) || !needed || may_know_more(rank, now)) continue;
    stop.raise_lost(queue.first_sequence(), rank);
    return true;
  }
  return false;
}

/// True when the calls may differ, and the verdict was lost with the link to rank 0. A rank 0 that
/// has left had sent all verdicts, and they were received.
bool Watchdog::may_miss_verdict() const {
  const GroupPeers& peers = watched_.peers;
  return watched_.check.state() == State::late && peers.rank() > 0 && !peers.has_left(0);
}

/// A rank that has left in the middle of a collective may know by rank 0 that the calls differ.
/// This rank then gets the same verdict soon.
bool Watchdog::may_know_more(int rank, Time now) {
  const GroupPeers& peers = watched_.peers;
  if (!watched_.check.is_open() || peers.rank() == 0 || !peers.has_left(rank)) return false;
  leaver_blamed_at_ = std::min(leaver_blamed_at_, now + verdict_under_way);
  return now < leaver_blamed_at_;
}

std::vector<int> Watchdog::awaited() const {
  const auto& [peers, queue, check, communicators, stop] = watched_;
  if (check.awaits_verdict()) return peers.rank() == 0 ? check.missing() : std::vector<int>{0};
  if (!check.runs()) return {};
  if (communicators.current().any_missing()) return communicators.current().missing();
  const int rank = communicators.current().waits_for();
  return rank >= 0 ? std::vector<int>{rank} : std::vector<int>();
}

}  // namespace dt
