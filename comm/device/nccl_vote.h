#pragma once

#include "comm/schedule/call_agreement.h"
#include "comm/schedule/operation_request.h"

#include <memory>

namespace dt {

/// All ranks vote how they run a call without a name. The vote is an operation of the engine
/// before the call, which the ranks compare as the call. So all ranks change at the same call, and
/// NCCL begins none that a rank has not made.
class NcclVote {
 public:
  struct Choice {
    DeviceRoute route = DeviceRoute::undecided;
    bool slot = false;  ///< this rank's calls have slots
  };
  NcclVote(OperationRequest call, Choice own);

  /// The operation to run, which keeps the memory of the vote.
  const std::shared_ptr<Operation>& operation() const { return operation_; }
  /// Returns the route of all ranks, and whether some rank wishes a slot. Requires that the
  /// operation has ended well.
  Choice outcome() const;

 private:
  std::shared_ptr<Operation> operation_;
};

}  // namespace dt
