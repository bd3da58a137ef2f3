#pragma once

#include "comm/include/dtrain/dtrain.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <string>

namespace dt {

/// The identity of a worker of a PsJob.
class WorkerIdentity {
 public:
  WorkerIdentity(PsJob& job, int worker, int timeout_ms = 0)
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

}  // namespace dt
