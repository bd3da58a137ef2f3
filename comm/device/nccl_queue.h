#pragma once

#include "base/result.h"
#include "comm/device/nccl_plan.h"
#include "comm/device/queued_results.h"
#include "comm/schedule/call_agreement.h"
#include "gpu/device.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace dt {

/// A collective that NCCL runs.
struct NcclTask {
  NcclPart part;
  DeviceBuffer memory = {};                     ///< for its plan; empty: that of the connection
  std::shared_ptr<DeviceEvent> ready = {};      ///< reached when the input is there; null: it is
  std::shared_ptr<QueuedResults> results = {};  ///< of its call; null: no stream can wait
  size_t tasks = 1;                             ///< of its call

  // These are the connection's:
  enum class State : uint8_t { queued, on_device, ended, failed };
  State state = State::queued;
  std::shared_ptr<DeviceEvent> done = {};  ///< of `on_device`; the same for a bucket
};

/// The tasks of a connection in the order in which they begin. All ranks have the same order. The
/// tasks of a bucket begin as one.
///
///   gathered ─ all of its bucket, and the buckets before ▶ queued ─ take ▶ taken ─ note_ends ▶
///   ended
///       └──────────────────────────────────────────────────────┴──── fail_all ▶ failed
class NcclQueue {
 public:
  using Bucket = std::vector<std::shared_ptr<NcclTask>>;

  /// Queues a task without a slot.
  void add(const std::shared_ptr<NcclTask>& task) { queued_.push_back({task}); }
  /// Gathers a task, and queues the buckets whose turn it is.
  void add(const std::shared_ptr<NcclTask>& task, const NcclSlot& slot);
  bool empty() const { return queued_.empty(); }
  /// Takes the next tasks. Requires !empty().
  Bucket take();
  bool none_taken() const { return taken_.empty(); }
  /// True when no task is gathered, queued or taken.
  bool none_left() const { return gathered_.empty() && queued_.empty() && taken_.empty(); }
  /// True when the device has the inputs of all tasks that were taken.
  bool all_begun() const;
  /// True when the device has reached the ends of all tasks that were taken.
  bool all_reached() const;
  /// Ends the tasks whose ends the device has reached. Calls `check` between the two, and ends none
  /// where that fails.
  Result<> note_ends(const std::function<Result<>()>& check);
  void fail_all();

 private:
  std::map<uint64_t, Bucket> gathered_;  ///< that wait for tasks, or for buckets before them
  uint64_t next_bucket_ = 0;
  std::deque<Bucket> queued_;
  Bucket taken_;
};

}  // namespace dt
