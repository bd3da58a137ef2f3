#include "launcher/job/supervision/pause.h"

#include <utility>

namespace dt {

bool Pause::begin(Time now) {
  if (since_) return false;
  since_ = now;
  for (int& unanswered : unanswered_)
    ++unanswered;
  return true;
}

void Pause::answered(size_t agent) {
  if (unanswered_[agent] > 0) --unanswered_[agent];
}

bool Pause::complete() const {
  if (!since_) return false;
  for (size_t agent = 0; agent < unanswered_.size(); ++agent) {
    if (unanswered_[agent] > 0 && !ended_[agent]) return false;
  }
  return true;
}

std::optional<Duration> Pause::end(Time now) {
  const std::optional<Time> since = std::exchange(since_, std::nullopt);
  if (!since) return std::nullopt;
  return now - *since;
}

}  // namespace dt
