#pragma once

#include "base/environment.h"
#include "launcher/config/option_source.h"

namespace dt {

/// Returns the options that torchrun's variables PET_* give where nearer sources have none: nodes,
/// the rank of this node, the address of node 0, and processes on a node. Only the last counts
/// beside named hosts, --standalone, a cluster, or hosts of a scheduler. None counts inside a job
/// of dtrain. Origins are the names of the variables.
OptionSource torchrun_variables(const OptionSources& nearer, const Environment& environment);

}  // namespace dt
