#include "comm/device/nccl_queue.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// An event that is not recorded yet counts as reached.
bool has_ended(const NcclTask& task) {
  if (task.state != NcclTask::State::on_device) return false;
  const Result<bool> done = task.done->done();
  return done && *done;
}

/// Also true on a device that has failed, which runs nothing more.
bool has_begun(const NcclTask& task) {
  return !task.ready || task.ready->done().value_or(true);
}

}  // namespace

void NcclQueue::add(const std::shared_ptr<NcclTask>& task, const NcclSlot& slot) {
  Bucket& bucket = gathered_[slot.bucket];
  bucket.resize(slot.members);
  bucket[slot.index] = task;
  const auto is_missing = [](const auto& member) { return member == nullptr; };
  for (auto next = gathered_.find(next_bucket_); next != gathered_.end();
       next = gathered_.find(next_bucket_)) {
    if (std::ranges::any_of(next->second, is_missing)) return;
    queued_.push_back(std::move(next->second));
    gathered_.erase(next);
    ++next_bucket_;
  }
}

bool NcclQueue::all_begun() const {
  return std::ranges::all_of(taken_, [](const auto& task) { return has_begun(*task); });
}

NcclQueue::Bucket NcclQueue::take() {
  Bucket bucket = std::move(queued_.front());
  queued_.pop_front();
  taken_.insert(taken_.end(), bucket.begin(), bucket.end());
  return bucket;
}

bool NcclQueue::all_reached() const {
  return std::ranges::all_of(taken_, [](const auto& task) { return has_ended(*task); });
}

Result<> NcclQueue::note_ends(const std::function<Result<>()>& check) {
  const auto ended = std::partition(taken_.begin(), taken_.end(),
                                    [](const auto& task) { return !has_ended(*task); });
  TRY(check());
  for (auto task = ended; task != taken_.end(); ++task)
    (*task)->state = NcclTask::State::ended;
  taken_.erase(ended, taken_.end());
  return {};
}

void NcclQueue::fail_all() {
  for (auto& [number, bucket] : gathered_)
    queued_.push_back(std::move(bucket));
  queued_.push_back(std::move(taken_));
  for (const Bucket& bucket : queued_)
    for (const auto& task : bucket)
      if (task) task->state = NcclTask::State::failed;
  gathered_.clear();
  queued_.clear();
  taken_.clear();
}

}  // namespace dt
