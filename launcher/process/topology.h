#pragma once

#include "base/result.h"

#include <span>
#include <string>
#include <vector>

namespace dt {

/// The hardware threads of one core that may be used, as the kernel numbers them.
struct Core {
  std::vector<int> cpus;
  int numa_node = 0;
  bool operator==(const Core&) const = default;
};

/// The part of a machine that a process may use, neighbours side by side.
struct Topology {
  std::vector<Core> cores;

  std::vector<int> cpus() const;
  /// In ascending order.
  std::vector<int> numa_nodes() const;
  std::vector<int> cpus_of_node(int node) const;
  bool operator==(const Topology&) const = default;
};

/// What this process may use: within its cgroup's cpuset and the affinity that it has inherited.
Result<Topology> own_topology();
/// A machine that is not there, as hwloc describes one: "numa:2 core:4 pu:2".
Result<Topology> synthetic_topology(const std::string& description);

/// "0-3,8": as the kernel and taskset write sets of CPUs.
std::string ranges_text(std::span<const int> numbers);

}  // namespace dt
