#pragma once

#include "comm/include/dtrain/dtrain.h"
#include "tests/unit/rendezvous/fixture.h"

#include <memory>
#include <string>
#include <vector>

namespace dt {

/// A job of one chief, of rank 0, and workers.
inline TaskTable table_with_chief(int workers) {
  TaskTable table = table_of_workers(workers + 1);
  for (TaskEntry& task : table.tasks)
    task.id = task.rank == 0 ? TaskId{"chief", 0} : TaskId{"worker", task.rank - 1};
  return table;
}

/// The identity of one of its tasks.
class TaskIdentity {
 public:
  TaskIdentity(const RendezvousFixture& rendezvous, const TaskId& task)
      : role_(task.role),
        rendezvous_(rendezvous.address().text()),
        token_(rendezvous.token().text()),
        job_(rendezvous.table().job) {
    options_.struct_size = sizeof options_;
    options_.role = role_.c_str();
    options_.task_index = task.index;
    options_.rendezvous = rendezvous_.c_str();
    options_.token = token_.c_str();
    options_.job = job_.c_str();
    options_.generation = rendezvous.table().generation;
  }
  TaskIdentity(const TaskIdentity&) = delete;
  TaskIdentity& operator=(const TaskIdentity&) = delete;
  const dtrain_init_options* get() const { return &options_; }

 private:
  std::string role_;
  std::string rendezvous_;
  std::string token_;
  std::string job_;
  dtrain_init_options options_ = {};
};

}  // namespace dt
