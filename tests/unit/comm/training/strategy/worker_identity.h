#pragma once

#include "tests/unit/comm/training/ps/worker_identity.h"
#include "tests/unit/comm/training/strategy/strategies.h"

#include <string>
#include <utility>

namespace dt {

/// Makes the strategy of a worker of a PsJob, as a program without a context does.
inline dtrain::Strategy join_strategy(PsJob& job, int worker, TestedStrategy tested,
                                      int timeout_ms = 30'000) {
  const WorkerIdentity identity(job, worker, timeout_ms);
  tested.request.identity = identity.get();
  if (!tested.request.name) tested.request.name = tested.name;
  auto made =
      Strategy::join(tested.request, {{"DTRAIN_CPU_DEVICES", std::to_string(tested.devices)}});
  if (made) return dtrain::Strategy(new_handle(*std::move(made)).release());
  dtrain_error error = new_error();
  report(&error, made.error());
  throw dtrain::Error(error);
}

}  // namespace dt
