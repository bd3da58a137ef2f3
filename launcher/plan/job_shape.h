#pragma once

#include <map>
#include <string>
#include <vector>

namespace dt {

/// What is counted over all tasks of the job once, since each of them is told of it.
struct JobShape {
  std::map<std::string, int, std::less<>> role_sizes;  ///< tasks of each role
  /// Of each host, its place among those that have tasks with a rank; -1 without one.
  std::vector<int> node_of_host;
  int node_count = 0;
  bool operator==(const JobShape&) const = default;
};

struct Plan;

JobShape job_shape_of(const Plan& plan);

}  // namespace dt
