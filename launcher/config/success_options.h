#pragma once

#include "base/result.h"
#include "launcher/config/option_source.h"

#include <cstdint>
#include <string>

namespace dt {

/// The tasks whose success is the success of the job.
enum class SuccessBy : uint8_t {
  automatic,
  chief,
  worker_0,
  all_workers,
  all,
  role,
  never,  ///< no success ends the job: a signal does, with status 0, or a failure
};

/// How a job that has succeeded ends the tasks that still run.
enum class CleanUp : uint8_t {
  running,  ///< ends them, and afterwards the processes that tasks left behind
  all,      ///< ends both together, with the same grace
  none,     ///< waits for them
};

/// How a job succeeds.
struct SuccessOptions {
  SuccessBy by = SuccessBy::automatic;
  std::string role = {};  ///< for SuccessBy::role
  CleanUp clean = CleanUp::running;
  /// Training continues without workers that fail while so many are left; 0: it needs all.
  int workers_min = 0;
  /// Training continues without a ps, whose variables the next one has, too.
  bool servers_replicated = false;
  bool operator==(const SuccessOptions&) const = default;
};

Result<> read_success(const OptionSources& sources, SuccessOptions& success);

}  // namespace dt
