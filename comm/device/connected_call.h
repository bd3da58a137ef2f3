#pragma once

#include "comm/device/nccl_connection.h"
#include "comm/device/nccl_vote.h"
#include "comm/device/staged_copies.h"
#include "comm/driver/device_copies.h"
#include "comm/schedule/call_agreement.h"
#include "comm/schedule/operation_request.h"

#include <memory>
#include <optional>
#include <vector>

namespace dt {

/// A call that NCCL runs if the ranks agree on it, and that is staged otherwise.
///
/// - The ranks vote on a call without a name. If all make calls by name, they then agree on its
///   slot.
/// - They agree on the route of a call by name, and on its slot.
///
/// In the first of these they compare the call, so that calls that differ are a mismatch. Once the
/// ranks have voted for NCCL, a call without a slot begins at once, and the vote runs beside it:
///
///   the caller's stream:  … ▶ ready event ▶ the caller's work ─▶ QueuedResults ▶ …
///   NCCL's stream:                └▶ the collective ─────────────────┘
///   the engine:              vote ───────────────▶ the call ends when both have ended
///
/// If that vote fails, no rank knows what NCCL does on the others, which is aborted.
///
/// A call with a slot waits for its ready event before it gets one. Otherwise NCCL's stream could
/// wait for a stream that waits for another call, which NCCL runs later. For the same reason, calls
/// by name are staged while one without a slot waits for its ready event.
class ConnectedCall final : public DeviceCopies {
 public:
  struct Terms {
    std::shared_ptr<NcclConnection> connection;
    CallingRank self;
    std::shared_ptr<StagingDevice> device;
    std::shared_ptr<DeviceEvent> ready = {};      ///< reached when the input is there; null: it is
    std::shared_ptr<QueuedResults> results = {};  ///< null: no stream will wait for them
    std::vector<BufferRanges> ranges;
    std::shared_ptr<Operation> executed;  ///< the call, which the engine gets if it is staged
  };
  /// Requires a call that nccl_can_run() accepts. May wait for the device's work. Fails without an
  /// effect on the engine.
  static Result<std::unique_ptr<DeviceCopies>> start(Terms terms);
  ~ConnectedCall() override;

  Result<DeviceStep> next() override;
  Result<> start_results() override;
  Result<bool> results_copied() override;
  bool others_wait() const override;
  std::optional<Error> failing() override;
  void stop(const Error& why) override;
  bool has_slot() const override { return agreement_ != nullptr; }
  void release() override;
  void finish() override;

 private:
  explicit ConnectedCall(Terms terms) : terms_(std::move(terms)) {}
  Result<> take_memory();
  const OperationRequest& request() const { return terms_.executed->request; }
  DeviceStep vote();
  Result<DeviceStep> follow_vote();
  Result<DeviceStep> follow_agreement();
  Result<DeviceStep> agree();
  Result<DeviceStep> stage();
  Result<DeviceStep> route(DeviceRoute route);
  void limit_time(OperationRequest& request) const;
  Error without_nccl() const;
  Result<bool> all_ended() const;
  void note_input();
  void check_progress();
  Error labelled(Error why) const;

  Terms terms_;
  std::optional<NcclVote> vote_ = {};              ///< none: not yet, or a call by name
  std::shared_ptr<void> without_slot_ = {};        ///< null: its input is there, or it has a slot
  std::shared_ptr<CallAgreement> agreement_ = {};  ///< null: not yet, or no slot
  std::shared_ptr<Operation> announced_ = {};      ///< by which they agree; null: likewise
  std::string slot_name_ = {};                     ///< of a call without a name
  DeviceBuffer pinned_ = {};                       ///< for staging, where the ranks may choose it
  std::vector<std::shared_ptr<NcclTask>> tasks_ = {};  ///< for NCCL, one for each tensor
  bool preparing_ = false;  ///< it waits for its input; the others may have announced theirs
  bool staging_ = false;    ///< the others run it staged
  bool begun_ = false;      ///< NCCL has the tasks
  std::unique_ptr<DeviceCopies> staged_ = {};  ///< null: not staged
  Time deadline_ = Time::max();
  std::optional<Error> stopped_ = {};   ///< why other ranks will not end it
  std::optional<Time> failed_at_ = {};  ///< when NCCL has failed
};

}  // namespace dt
