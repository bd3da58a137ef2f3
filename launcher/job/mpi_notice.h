#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Makes one warning of what the agents of a job say of programs with MPI.
class MpiNotice {
 public:
  explicit MpiNotice(size_t agents) : awaited_(agents, true) {}

  /// Both give the warning when nobody is left who could add to it, if there is one: one process
  /// alone is as it should be.
  std::optional<std::string> looked(size_t agent, uint32_t alone);
  std::optional<std::string> gone(size_t agent) { return looked(agent, 0); }

 private:
  std::vector<bool> awaited_;  ///< by agent
  uint64_t alone_ = 0;
};

}  // namespace dt
