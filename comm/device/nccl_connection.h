#pragma once

#include "base/bytes.h"
#include "base/environment.h"
#include "comm/device/abort_flag.h"
#include "comm/device/buffer_ranges.h"
#include "comm/device/connection_meeting.h"
#include "comm/device/connection_offer.h"
#include "comm/device/nccl_memory.h"
#include "comm/device/nccl_plan.h"
#include "comm/device/nccl_queue.h"
#include "comm/device/nccl_vote.h"
#include "comm/device/peer_link.h"
#include "comm/device/rank_store.h"
#include "comm/device/staging_device.h"
#include "gpu/nccl/nccl_communicator.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dt {

/// This rank's device among those of all ranks, which NCCL connects. A thread of its own connects
/// them, and then begins the tasks in their order. All ranks have the same tasks in the same order.
/// The tasks of a bucket are run as one.
///
///   undecided ─ all ranks can, and have joined ▶ nccl ─ a failure, stop() ▶ failed
///       ├─ one of them cannot ▶ staged: the engine runs all calls
///       └─ it cannot be decided, or one rank requires NCCL ▶ failed
///
/// The ranks decide through the job's store. Rank 0 collects their offers, and its verdict has the
/// id of NCCL's communicator. Then it collects whether they have joined. Ranks of one host also
/// make a PeerLink, which runs what it can.
class NcclConnection {
 public:
  struct Terms {
    CallingRank self;
    std::string host = {};  ///< of this rank, for messages
    std::shared_ptr<StagingDevice> device;
    bool requires_nccl = false;  ///< else it may stage
    Environment environment;
    RankStore store;
  };
  enum class Way : uint8_t { undecided, nccl, staged, failed };

  /// Where no thread can be started, the connection has failed.
  static std::shared_ptr<NcclConnection> start(Terms terms);
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;
  ~NcclConnection() { close(); }
  /// If NCCL has run, waits until all ranks leave. Kernels of another rank may use memory of this
  /// one after those here have ended. Later tasks are NCCL's.
  void farewell(Time deadline);
  /// Ends the thread, when no wait in the store lasts. All tasks have ended then.
  void close();

  const StagingDevice& device() const { return *terms_.device; }
  /// A connection that was stopped has failed.
  Way way() const;
  /// The route that this rank wishes now.
  DeviceRoute wish() const;
  /// The route by which the last vote of all ranks ended.
  DeviceRoute agreed() const { return agreed_.load(std::memory_order_relaxed); }
  void agree(DeviceRoute route) { agreed_.store(route, std::memory_order_relaxed); }
  /// True when the ranks have agreed that NCCL runs calls by name.
  bool runs_by_name() const { return runs_by_name_.load(std::memory_order_relaxed); }
  void run_by_name() { runs_by_name_.store(true, std::memory_order_relaxed); }
  bool runs() const { return agreed() == DeviceRoute::nccl || runs_by_name(); }
  /// For the steps of calls, which one thread at a time takes.
  NcclOrder& order() { return order_; }
  /// The error of `failed`, or the reason of `staged`.
  Error reason() const;

  /// The memory for tasks whose plans need more than that of the connection.
  NcclMemory& memory() { return memory_; }

  /// Begins a task without a slot. Requires that the devices were connected.
  void begin(const std::shared_ptr<NcclTask>& task);
  /// Begins a task when all buckets before its own have begun, and all tasks of its bucket are
  /// here.
  void begin(const std::shared_ptr<NcclTask>& task, const NcclSlot& slot);
  /// True when the results lie in memory of the device. Fails when the connection or the device
  /// has failed, and no kernel uses the buffers any more.
  Result<bool> ended(const NcclTask& task) const;
  /// Waits until ended() is true or fails.
  void await_end(const NcclTask& task);
  /// Fails all tasks that have not ended, and all later ones. The first reason counts, but for
  /// Errc::mismatch: the ranks know better than NCCL where they differ.
  void stop(Error why);

 private:
  explicit NcclConnection(Terms terms);
  void run();
  Result<ConnectionVerdict> connect();
  ConnectionOffer make_offer();
  Result<> join(const NcclUniqueId& id, const ConnectionMeeting& meeting);
  Result<> link_peers(const ConnectionVerdict& verdict);
  void serve();
  Result<> start_on_device(NcclQueue::Bucket& bucket);
  NcclPlan plan(const NcclQueue::Bucket& bucket) const;
  Result<> run(NcclPlan plan);
  Result<> run_by_nccl(NcclCall call);
  Result<> finish_stream(const std::function<void()>& watch);
  void watch_peers();
  std::optional<Error> check_kernels(std::unique_lock<std::mutex>& lock);
  NcclWait wait();
  std::optional<Error> stopped() const;
  void abandon(const Error& why);
  void leave();
  bool close_peers();
  void fail_all();

  const Terms terms_;
  std::atomic<DeviceRoute> agreed_ = DeviceRoute::undecided;
  std::atomic<bool> runs_by_name_ = false;
  NcclOrder order_;
  NcclMemory memory_;
  std::optional<NcclLibrary> library_ = {};
  std::string all_leave_ = {};                 ///< key of the note that all ranks leave
  DeviceBuffer plan_memory_ = {};              ///< of one plan at a time, in the stream's order
  AbortFlag aborted_ = {};                     ///< of the communicator
  std::unique_ptr<DeviceStream> stream_ = {};  ///< of NCCL alone

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Way way_ = Way::undecided;
  std::optional<Error> stop_ = {};
  std::string staged_because_ = {};
  bool closing_ = false;
  NcclQueue tasks_;
  std::unique_ptr<NcclCommunicator> communicator_ = {};  ///< reset by the thread alone
  std::unique_ptr<PeerLink> peers_ = {};                 ///< likewise; null: there is none
  std::thread thread_;
};

}  // namespace dt
