#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/shm_segment.h"
#include "rendezvous/cluster/task.h"

#include <memory>
#include <vector>

namespace dt {

/// The ranked tasks that share this task's host, and what they share: the lowest task makes the
/// memory, each has a slot in it and a doorbell, and descriptors for both pass over local sockets.
class LocalGroup {
 public:
  /// No group, for a task that is alone on its host or uses TCP only.
  LocalGroup() = default;
  /// Makes the memory if this is its task.
  static Result<LocalGroup> create(const TaskTable& table, const TaskEntry& self);

  bool empty() const { return tasks_.empty(); }
  /// The slot of a task of this host; -1 of another.
  int slot_of(const TaskId& task) const;
  int own_slot() const { return own_slot_; }
  const Fd& doorbell() const { return doorbell_; }
  /// There once we made it or took it over.
  const std::shared_ptr<ShmSegment>& segment() const { return segment_; }

  /// The descriptors that every local peer gets from us: our doorbell and, from its maker, the
  /// memory.
  std::vector<int> passed_fds() const;
  /// How many we get from the task with that slot.
  static size_t passed_fds_expected(int slot) { return slot == 0 ? 2 : 1; }
  /// Takes what the task with that slot gave; returns its doorbell.
  Result<Fd> take_gifts(int slot, std::vector<Fd> passed_fds);

 private:
  std::vector<TaskId> tasks_;  ///< by slot, ourselves among them
  int own_slot_ = -1;
  Fd doorbell_;
  std::shared_ptr<ShmSegment> segment_;
};

}  // namespace dt
