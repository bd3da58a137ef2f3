#include "comm/transport/local_group.h"

#include "comm/transport/doorbell.h"

#include <algorithm>
#include <cassert>

namespace dt {

Result<LocalGroup> LocalGroup::create(const TaskTable& table, const TaskEntry& self) {
  LocalGroup group;
  for (const TaskEntry& task : table.tasks) {
    if (task.rank >= 0 && task.agent == self.agent) group.tasks_.push_back(task.id);
  }
  std::ranges::sort(group.tasks_);
  if (group.tasks_.size() < 2) return LocalGroup();
  group.own_slot_ = group.slot_of(self.id);
  group.doorbell_ = TRY(make_doorbell());
  if (group.own_slot_ == 0) {
    group.segment_ = TRY(ShmSegment::create(static_cast<int>(group.tasks_.size())));
  }
  return group;
}

int LocalGroup::slot_of(const TaskId& task) const {
  const auto at = std::ranges::find(tasks_, task);
  return at == tasks_.end() ? -1 : static_cast<int>(at - tasks_.begin());
}

std::vector<int> LocalGroup::passed_fds() const {
  std::vector<int> passed_fds = {doorbell_.get()};
  if (own_slot_ == 0) passed_fds.push_back(segment_->fd());
  return passed_fds;
}

Result<Fd> LocalGroup::take_passed_fds(int slot, std::vector<Fd> passed_fds) {
  assert(passed_fds.size() == passed_fds_expected(slot));
  if (slot == 0) {
    segment_ = TRY(ShmSegment::open(std::move(passed_fds[1]), static_cast<int>(tasks_.size())));
  }
  return std::move(passed_fds[0]);
}

}  // namespace dt
