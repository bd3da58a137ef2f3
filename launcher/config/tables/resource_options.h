#pragma once

#include "launcher/config/tables/option.h"

#include <array>

namespace dt {

/// The options that give each task of a role resources of its host.
namespace resource_table {
using enum OptionKind;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"role-cpus", "--role-cpus", list, "NAME=N", hosts,
           "Bind each task of this role to N cores of its own, with all their hardware threads, "
           "in the order of the tasks of a host. Tasks of other roles get the cores that are left, "
           "where --bind-to binds them. May be given again, or as worker=4,ps=1."},
    Option{"role-gpus", "--role-gpus", list, "NAME=N", hosts,
           "Give each task of this role N GPUs of its own, by CUDA_VISIBLE_DEVICES, in the order "
           "of the tasks of a host. 0 hides all GPUs. With 0.5, two tasks share one GPU, as with "
           "--gpu-share; 0.25 is for four. May be given again, or as worker=2,ps=0."},
    Option{"role-memory", "--role-memory", list, "NAME=SIZE", hosts,
           "The most memory of each task of this role, such as 512M or 4G, by a cgroup of its "
           "own. A warning names the hosts where dtrain may not limit it. May be given again, or "
           "as worker=4G,ps=1G."},
    Option{"role-ports", "--role-ports", list, "NAME=PORTS", hosts,
           "The ports of this role's tasks in TF_CONFIG and in {port}: one a task, separated by "
           "commas, or one for all that are on hosts of their own. A restarted task has the same. "
           "May be given again. Without it they are any free ones, or of --port-range."},
};
}  // namespace resource_table
inline constexpr const auto& resource_options = resource_table::rows;

}  // namespace dt
