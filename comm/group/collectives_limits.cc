// The time limits of the collectives of a group.
#include "base/format.h"
#include "base/text.h"
#include "comm/group/collectives.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Other ranks wait this much longer than their timeout for the stop that names the missing ranks.
constexpr Duration verdict_grace = milliseconds(250);

}  // namespace

Time Collectives::front_expires_at() const {
  const Time end = deadline(front());
  const bool agreeing =
      phase_ == Phase::agreeing || (phase_ == Phase::running && check_ == Check::round);
  const bool comparing = phase_ == Phase::running && communicator_->any_missing();
  if (!agreeing && !comparing) return end;
  // One rank names the missing ranks, by the first time limit of all calls that it has seen. In an
  // agreement this is rank 0, by the limits in agreement_.
  if (agreeing && peers_.rank() == 0) return Time::max();
  if (comparing && is_first_caller()) return communicator_->first_limit().end;
  return end == Time::max() ? end : end + verdict_grace;
}

/// True when no lower rank has made the call of the running collective, as far as this one knows.
bool Collectives::is_first_caller() const {
  for (int rank = 0; rank < peers_.rank(); ++rank)
    if (!communicator_->needs(rank)) return false;
  return true;
}

void Collectives::expire(Time now) {
  if (!agreement_stopped()) {
    agreement_.connect_missing(now);
    if (std::optional<CollectiveStop> stop = agreement_.lost()) stop_from(std::move(*stop));
    if (std::optional<CollectiveStop> stop = agreement_.overdue(now)) stop_from(std::move(*stop));
  }
  if (queue_.empty()) return;
  if (front_expires_at() <= now) return time_out(front());
  if (limits_.earliest_behind(front().sequence) > now) return;
  const auto late = std::find_if(queue_.begin() + 1, queue_.end(),
                                 [&](const auto& o) { return deadline(*o) <= now; });
  time_out(**late);
}

void Collectives::time_out(const Operation& operation) {
  std::string reason = "timed out after " + duration_text(operation.request.timeout);
  int blamed = -1;
  if (&operation != &front() || phase_ == Phase::queued) {
    reason += format(" on {} behind {}", peers_.name(peers_.rank()), label(front()));
  } else if (phase_ == Phase::agreeing) {
    blamed = peers_.job_rank(0);
    reason += format(": {} has not answered", peers_.name(0));
  } else if (communicator_->any_missing()) {
    const std::vector<int> missing = communicator_->missing();
    blamed = peers_.job_rank(missing.front());
    reason = missing_text(peers_, communicator_->first_limit().timeout, missing);
  } else {
    const int awaited = communicator_->waits_for();
    reason += " on " + peers_.name(peers_.rank());
    if (awaited >= 0) reason += ", waiting for " + peers_.name(awaited);
    if (awaited >= 0) blamed = peers_.job_rank(awaited);
  }
  stop_from({operation.sequence,
             {Errc::timeout, blamed, reason},
             format("not possible after {} timed out", label(operation))});
}

/// Notes the limits of the operations that a stop has left.
void Collectives::note_limits() {
  limits_.clear();
  for (const std::shared_ptr<Operation>& operation : queue_)
    limits_.push(operation->sequence, deadline(*operation));
}

Time Collectives::next_deadline() const {
  Time next = Time::max();
  if (!agreement_stopped()) next = std::min(agreement_.next_deadline(), agreement_.connects_at());
  if (!queue_.empty() && phase_ == Phase::running && check_ == Check::exchange)
    next = std::min(next, late_);
  if (!queue_.empty() && phase_ == Phase::running) next = std::min(next, leaver_blamed_at_);
  if (queue_.empty()) return next;
  return std::min({next, front_expires_at(), limits_.earliest_behind(front().sequence)});
}

}  // namespace dt
