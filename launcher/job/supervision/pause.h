#pragma once

#include "base/clock.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace dt {

/// The pause of a job (Ctrl-Z): complete when each agent that has not ended has answered. A pause
/// may end before, and its answers still come: they do not count for the next one. No I/O, no
/// clock.
class Pause {
 public:
  explicit Pause(size_t agents) : unanswered_(agents), ended_(agents) {}

  /// Returns false when the pause has begun before.
  bool begin(Time now);
  /// The agent has stopped its tasks.
  void answered(size_t agent);
  void agent_ended(size_t agent) { ended_[agent] = true; }
  bool on() const { return since_.has_value(); }
  bool complete() const;
  /// Returns how long the pause was; none without a pause.
  std::optional<Duration> end(Time now);

 private:
  std::vector<int> unanswered_;  ///< pauses, by agent
  std::vector<bool> ended_;      ///< agents
  std::optional<Time> since_;
};

}  // namespace dt
