#pragma once

#include <cstdint>

namespace dt {

/// Raises this process's soft limit of descriptors to the hard limit. Returns the old soft limit,
/// which children get back.
uint64_t raise_open_files_limit();
void set_open_files_limit(uint64_t soft);

/// Returns how many descriptors an agent needs. It counts three pipes and a pidfd for each task,
/// the held ports, and a few for a moment.
uint64_t open_files_of_tasks(int tasks, uint64_t port_files);

}  // namespace dt
