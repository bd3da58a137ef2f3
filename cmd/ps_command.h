#pragma once

#include "base/io/log.h"
#include "base/result.h"

#include <cstdint>
#include <string>

namespace dt {

/// The options of `dtrain ps`.
struct PsOptions {
  std::string checkpoint;  ///< the beginning of the files' names; empty: none
  int64_t checkpoint_every = 0;
  bool operator==(const PsOptions&) const = default;
};

/// Serves parameters as the task of the environment, until the job ends or SIGTERM or SIGINT comes.
/// Fails with the error of dtrain_ps_serve.
Result<> run_ps(const PsOptions& options, Log& log);

}  // namespace dt
