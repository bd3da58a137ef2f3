#pragma once

#include "tests/unit/comm/ps/ps_job.h"
#include "tests/unit/comm/strategy/strategies.h"

#include <string>
#include <utility>

namespace dt {

/// The identity of a worker of a PsJob.
class WorkerIdentity {
 public:
  WorkerIdentity(PsJob& job, int worker, int timeout_ms)
      : rendezvous_(job.rendezvous().address().text()),
        token_(job.rendezvous().token().text()),
        job_(job.rendezvous().table().job) {
    options_.struct_size = sizeof options_;
    options_.role = "worker";
    options_.task_index = worker;
    options_.rendezvous = rendezvous_.c_str();
    options_.token = token_.c_str();
    options_.job = job_.c_str();
    options_.generation = job.rendezvous().table().generation;
    options_.timeout_ms = timeout_ms;
  }
  WorkerIdentity(const WorkerIdentity&) = delete;
  WorkerIdentity& operator=(const WorkerIdentity&) = delete;
  const dtrain_init_options* get() const { return &options_; }

 private:
  std::string rendezvous_;
  std::string token_;
  std::string job_;
  dtrain_init_options options_ = {};
};

/// Makes the strategy of a worker of a PsJob, as a program without a context does.
inline dtrain::Strategy join_strategy(PsJob& job, int worker, TestedStrategy tested,
                                      int timeout_ms = 30'000) {
  const WorkerIdentity identity(job, worker, timeout_ms);
  tested.request.identity = identity.get();
  if (!tested.request.name) tested.request.name = tested.name;
  int blamed_rank = -1;
  auto made = Strategy::join(
      tested.request, {{"DTRAIN_CPU_DEVICES", std::to_string(tested.devices)}}, &blamed_rank);
  if (made) return dtrain::Strategy(new_handle(*std::move(made)));
  dtrain_error error = new_error();
  report(&error, made.error(), blamed_rank);
  throw dtrain::Error(error);
}

}  // namespace dt
