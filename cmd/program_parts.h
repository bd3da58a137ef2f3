#pragma once

#include "base/result.h"
#include "cmd/run_arguments.h"

namespace dt {

/// Splits `-np 1 a : -np 2 b`, as mpirun does: the programs are one world, and ranks count through
/// them in the order given. The first program stays the command of the role worker. Each other one
/// becomes a ranked role (program1, program2, …) with its own command. Its -H gives its own hosts,
/// its -x variables for its tasks alone; all other options stand before the first program.
///
/// A lone ":" before an option separates programs, unless the first command follows "--". Fails
/// with Errc::input when a program has no number, or an option that counts for the whole job.
Result<> split_programs(RunArguments& run);

}  // namespace dt
