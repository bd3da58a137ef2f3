#pragma once

#include "base/result.h"

#include <span>
#include <string>
#include <vector>

namespace dt {

/// One core: those of its hardware threads that may be used, by the kernel's numbers.
struct Core {
  std::vector<int> cpus;
  int numa_node = 0;
  bool operator==(const Core&) const = default;
};

/// The part of a machine that a process may use. Cores that share caches are next to each other.
struct Topology {
  std::vector<Core> cores;

  std::vector<int> cpus() const;
  /// In ascending order.
  std::vector<int> numa_nodes() const;
  std::vector<int> cpus_of_node(int node) const;
  bool operator==(const Topology&) const = default;
};

/// Returns the cores that this process may use: by its cgroup's cpuset and its inherited affinity.
Result<Topology> own_topology();
/// Returns an imaginary machine from hwloc's description of one: "numa:2 core:4 pu:2".
Result<Topology> synthetic_topology(const std::string& description);

/// Formats a set of CPUs like the kernel and taskset: "0-3,8". Requires ascending numbers.
std::string ranges_text(std::span<const int> numbers);

}  // namespace dt
