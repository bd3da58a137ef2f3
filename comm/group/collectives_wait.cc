// The ranks for which the collectives of a group wait, as far as this rank knows.
#include "comm/group/collectives.h"

#include <algorithm>

namespace dt {

namespace {

/// A rank may get rank 0's verdict this long after another rank, which has left since.
constexpr Duration verdict_under_way = milliseconds(250);

}  // namespace

void Collectives::add_wait(std::vector<PendingWait>& waits) const {
  if (queue_.empty()) return;
  // Both parts of the number change: one with the phase, the other with the data.
  constexpr int phase_bit = 60;
  const uint64_t phase = static_cast<uint64_t>(phase_) << phase_bit;
  const uint64_t data = phase_ == Phase::running ? communicator_->progress() : 0;
  waits.push_back({&front(), phase ^ data});
}

std::vector<int> Collectives::awaited() const {
  std::vector<int> ranks;
  if (queue_.empty() || phase_ == Phase::queued) return ranks;
  if (phase_ == Phase::agreeing) {
    ranks = peers_.rank() == 0 ? agreement_.missing() : std::vector<int>{0};
  } else if (communicator_->any_missing()) {
    ranks = communicator_->missing();
  } else if (const int rank = communicator_->waits_for(); rank >= 0) {
    ranks = {rank};
  }
  for (int& rank : ranks)
    rank = peers_.job_rank(rank);
  return ranks;
}

int Collectives::data_from() const {
  if (queue_.empty() || phase_ != Phase::running || !over_links()) return -1;
  const int rank = scheduled_.waits_for();
  return rank < 0 ? -1 : peers_.job_rank(rank);
}

/// Stops the running collective when a rank that it needs is gone. A late one has a link to the
/// rank that it waits for.
bool Collectives::stop_without_needed(Time now) {
  const int awaited = communicator_->waits_for();
  if (awaited >= 0 && check_ != Check::exchange) peers_.connect(awaited);
  for (int rank = 0; rank < peers_.size(); ++rank) {
    const bool needed = communicator_->needs(rank) || (rank == 0 && may_miss_verdict());
    if (!peers_.gone(rank) || !needed || may_know_more(rank, now)) continue;
    const std::string reason = peers_.gone_reason(rank);
    stop_from({front().sequence, {Errc::peer_lost, peers_.job_rank(rank), reason}, reason});
    return true;
  }
  return false;
}

/// True when the calls may differ, and the verdict was lost with the link to rank 0. A rank 0 that
/// has left had sent all verdicts, and they were received.
bool Collectives::may_miss_verdict() const {
  return check_ == Check::round && peers_.rank() > 0 && !peers_.has_left(0);
}

/// A rank that has left in the middle of a collective may know by rank 0 that the calls differ.
/// This rank then gets the same verdict soon.
bool Collectives::may_know_more(int rank, Time now) {
  if (check_ == Check::done || peers_.rank() == 0 || !peers_.has_left(rank)) return false;
  leaver_blamed_at_ = std::min(leaver_blamed_at_, now + verdict_under_way);
  return now < leaver_blamed_at_;
}

std::string Collectives::last_label() const {
  const uint64_t last = first_sequence() - 1;
  return last == 0 ? "" : collective_label(last_kind_, last, last_name_);
}

}  // namespace dt
