#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Makes one warning of all that the agents of a job report about programs with MPI.
class MpiNotice {
 public:
  explicit MpiNotice(size_t agents) : awaited_(agents, true) {}

  /// Called with the number of MPI processes that an agent found alone. Returns the warning, if
  /// there is one, when no other agent can add to it. A single process alone is correct.
  std::optional<std::string> reported(size_t agent, uint32_t alone);
  /// The same for an agent that ended, perhaps without a report.
  std::optional<std::string> agent_ended(size_t agent) { return reported(agent, 0); }

 private:
  std::vector<bool> awaited_;  ///< by agent
  uint64_t alone_ = 0;
};

}  // namespace dt
