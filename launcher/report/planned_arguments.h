#pragma once

#include "launcher/config/config.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"

#include <string>
#include <vector>

namespace dt {

/// Computes the arguments of each task's command before the job starts, for --dry-run. Addresses
/// and ports that are chosen at the start appear as "<node1>:<port>".
class PlannedWords {
 public:
  PlannedWords(const Plan& plan, const RunConfig& config);

  /// Returns the arguments of the task; empty if they are those that the user wrote.
  std::vector<std::string> changed(const Task& task) const;

 private:
  const Plan& plan_;
  const RunConfig& config_;
  Launch launch_;
};

}  // namespace dt
