#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "cmd/bench/bench_options.h"
#include "launcher/config/files/load_config.h"

#include <string>
#include <vector>

namespace dt {

/// Returns the run of `dtrain bench`: its ranks are this executable, and rank 0 prints without
/// tags. The request's other fields are the caller's.
RunRequest bench_request(const BenchOptions& options);

/// Returns the command that measures Open MPI with `ranks` ranks of this machine. `executable` is
/// the path of dtrain.
std::vector<std::string> mpirun_command(const std::string& mpirun, const std::string& executable,
                                        int ranks, const BenchOptions& options);

/// True for a terminal on stderr that shows a changing line to a person. TERM and CI decide as for
/// the status line of `dtrain run`.
bool shows_progress(bool terminal, const Environment& environment);

/// Runs `dtrain bench`. `given` has flags, environment and notice. Fails before anything starts, or
/// when a comparison cannot be made; else returns the exit status.
Result<int> run_bench(const BenchOptions& options, const RunRequest& given);

}  // namespace dt
