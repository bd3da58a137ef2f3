#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/shm_segment.h"
#include "rendezvous/cluster/task.h"

#include <memory>
#include <vector>

namespace dt {

/// The ranked tasks on this task's host. The lowest task makes the shared memory. Each task has a
/// slot in it and a doorbell. Descriptors for both pass over local sockets.
class LocalGroup {
 public:
  /// An empty group: the task is alone on its host, or uses TCP only.
  LocalGroup() = default;
  /// Also makes the shared memory if this task has slot 0.
  static Result<LocalGroup> create(const TaskTable& table, const TaskEntry& self);

  bool empty() const { return tasks_.empty(); }
  /// Returns -1 for a task on another host.
  int slot_of(const TaskId& task) const;
  int own_slot() const { return own_slot_; }
  const Fd& doorbell() const { return doorbell_; }
  /// Null until this task has made the memory, or received its descriptor from slot 0.
  const std::shared_ptr<ShmSegment>& segment() const { return segment_; }

  /// The descriptors that this task sends to every local peer: its doorbell and, from slot 0, the
  /// shared memory.
  std::vector<int> passed_fds() const;
  /// How many descriptors the task with that slot sends.
  static size_t passed_fds_expected(int slot) { return slot == 0 ? 2 : 1; }
  /// Takes the descriptors that the task with that slot has sent; returns its doorbell.
  Result<Fd> take_passed_fds(int slot, std::vector<Fd> passed_fds);

 private:
  std::vector<TaskId> tasks_;  ///< by slot; includes this task
  int own_slot_ = -1;
  Fd doorbell_;
  std::shared_ptr<ShmSegment> segment_;
};

}  // namespace dt
