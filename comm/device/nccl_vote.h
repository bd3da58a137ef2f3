#pragma once

#include "comm/schedule/call_agreement.h"
#include "comm/schedule/operation_request.h"

#include <memory>

namespace dt {

/// All ranks vote how they run a call without a name. The vote is an operation of the engine, which
/// the ranks compare as the call. So all ranks change at the same call. From then on NCCL runs the
/// call meanwhile, and the vote only compares it.
class NcclVote {
 public:
  struct Choice {
    DeviceRoute route = DeviceRoute::undecided;
    bool slot = false;  ///< this rank can give the call a slot: it has not begun
  };
  NcclVote(OperationRequest call, Choice own);

  /// The operation to run, which keeps the memory of the vote.
  const std::shared_ptr<Operation>& operation() const { return operation_; }
  /// Returns the route of all ranks, and whether all of them give the call a slot. Requires that
  /// the operation has ended well.
  Choice outcome() const;

 private:
  std::shared_ptr<Operation> operation_;
};

}  // namespace dt
