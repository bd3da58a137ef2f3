#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The hosts that a scheduler has given to a job, in its order.
struct Allocation {
  std::string name;  ///< for people: "Slurm job 21"
  HostList list;
  std::string slurm_job = {};  ///< its SLURM_JOB_ID; empty: another scheduler's
  std::string program = {};    ///< the scheduler's, like rsh: "blaunch"; empty: it has none
  bool of_pods = false;        ///< of Kubernetes; their names may be published late
  bool operator==(const Allocation&) const = default;
};

/// All that the readers of allocations know. They read no other variables and files.
struct AllocationInput {
  const Environment& environment;
  const TextReader& read_text;       ///< for the hostfiles of schedulers
  std::optional<int> per_host = {};  ///< processes of each host that the user wants
};

/// Finds the allocation that `choice`, the value of --allocation, allows: none, that of a
/// scheduler, or auto for the first scheduler whose job this is. A process of a dtrain job has
/// none. Fails with Errc::input for a scheduler whose job this is not, and for wrong variables.
Result<std::optional<Allocation>> find_allocation(std::string_view choice,
                                                  const AllocationInput& input);

/// True where find_allocation finds an allocation, or fails.
bool shows_allocation(std::string_view choice, const Environment& environment);

/// Returns a line for the user: "Slurm job 21: n[1-3], 12 slots". Slots that only agents know are
/// left out.
std::string allocation_line(std::string_view name, const std::vector<Host>& hosts);

}  // namespace dt
