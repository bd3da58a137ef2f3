// The ranks for which the collectives of a group wait, as far as this rank knows.
#include "comm/collective/collectives.h"

namespace dt {

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

std::string Collectives::last_label() const {
  const uint64_t last = first_sequence() - 1;
  return last == 0 ? "" : collective_label(last_kind_, last, last_name_);
}

}  // namespace dt
