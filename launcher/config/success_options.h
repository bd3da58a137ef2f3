#pragma once

#include "base/result.h"
#include "launcher/config/option_source.h"

#include <cstdint>
#include <string>

namespace dt {

/// Whose good end is the good end of the job.
enum class SuccessBy : uint8_t { automatic, chief, worker_0, all_workers, all, role };

/// What a job that has succeeded does with the tasks that still run.
enum class CleanUp : uint8_t {
  running,  ///< ends them; after them what tasks have left behind
  all,      ///< ends both together, with the same grace
  none,     ///< waits for them
};

/// How a job ends well.
struct SuccessOptions {
  SuccessBy by = SuccessBy::automatic;
  std::string role = {};  ///< of SuccessBy::role
  CleanUp clean = CleanUp::running;
  bool operator==(const SuccessOptions&) const = default;
};

Result<> read_success(const OptionSources& sources, SuccessOptions& success);

}  // namespace dt
