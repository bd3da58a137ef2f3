#pragma once

#include "comm/device/nccl_connection.h"
#include "comm/device/nccl_vote.h"
#include "comm/device/staged_copies.h"
#include "comm/driver/device_copies.h"
#include "comm/schedule/operation_request.h"

#include <memory>
#include <optional>
#include <vector>

namespace dt {

/// A call that NCCL plays if the ranks vote for it, and that is staged otherwise. In the vote, the
/// ranks compare the call. So calls that differ are a mismatch, and all ranks begin the same call
/// of NCCL.
///
///   the caller's stream:  … ▶ ready event ▶ StreamHold ───────────────────────▶ the caller's work
///   the engine:                   │   vote ─────┐                                ▲ release()
///   NCCL's stream:                └─────────────┴▶ the collective ▶ done event ──┘
class ConnectedCall final : public DeviceCopies {
 public:
  struct Terms {
    std::shared_ptr<NcclConnection> connection;
    CallingRank self;
    std::shared_ptr<StagingDevice> device;
    std::shared_ptr<DeviceStream> stream = {};  ///< of the caller; null: none
    std::vector<BufferRanges> ranges;
    std::shared_ptr<Operation> played;
  };
  /// Requires a call that nccl_can_play() accepts. May wait for the device's work. Fails without an
  /// effect on the engine.
  static Result<std::unique_ptr<DeviceCopies>> start(Terms terms);
  ~ConnectedCall() override;

  Result<DeviceStep> next() override;
  Result<> start_results() override;
  Result<bool> results_copied() override;
  bool others_wait() const override;
  std::optional<Error> failing() override;
  void stop(const Error& why) override;
  void release() override;
  void finish() override;

 private:
  explicit ConnectedCall(Terms terms) : terms_(std::move(terms)) {}
  Result<> check_ranges() const;
  Result<> take_memory();
  Result<> hold_stream();
  DeviceStep vote();
  Result<DeviceStep> stage();
  void limit_time(OperationRequest& request) const;
  Error without_nccl() const;
  void check_progress();
  Error labelled(Error why) const;

  Terms terms_;
  std::optional<NcclVote> vote_ = {};          ///< none: not yet
  DeviceBuffer pinned_ = {};                   ///< for staging, where the vote may choose it
  std::shared_ptr<NcclTask> task_;             ///< for NCCL
  bool staging_ = false;                       ///< the others play it staged
  bool begun_ = false;                         ///< NCCL has the task
  std::shared_ptr<DeviceEvent> ready_ = {};    ///< null: the caller has given no stream
  std::shared_ptr<StreamHold> hold_ = {};      ///< likewise
  std::unique_ptr<DeviceCopies> staged_ = {};  ///< null: not staged
  Time deadline_ = Time::max();
  std::optional<Error> stopped_ = {};   ///< why other ranks will not end it
  std::optional<Time> failed_at_ = {};  ///< when NCCL has failed
};

}  // namespace dt
