#pragma once

#include "launcher/job/job_context.h"

#include <memory>

namespace dt {

/// A launcher that has started no agent yet.
struct IdleLauncher {
  explicit IdleLauncher(const RunConfig& config) : context(config, {}, *runtime, record) {
    record.job = "job";
  }

  std::unique_ptr<Runtime> runtime = Runtime::open({}, {}).value();
  JobRecord record = {};
  JobContext context;
};

}  // namespace dt
