#pragma once

#include <doctest/doctest.h>

#include <sched.h>

#include <vector>

namespace dt {

/// Returns the CPUs that this thread may use.
inline std::vector<int> own_affinity() {
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

inline void set_own_affinity(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    CPU_SET(cpu, &set);
  REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}

}  // namespace dt
