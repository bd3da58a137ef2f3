#pragma once

#include <map>
#include <string>
#include <vector>

namespace dt {

/// Counts over all tasks of the job, made once: each task's environment contains them.
struct JobShape {
  std::map<std::string, int, std::less<>> role_sizes;  ///< tasks of each role
  /// For each host its index among the hosts that have tasks with a rank; -1 without such tasks.
  std::vector<int> node_of_host;
  int node_count = 0;
  bool operator==(const JobShape&) const = default;
};

struct Plan;

JobShape job_shape_of(const Plan& plan);

}  // namespace dt
