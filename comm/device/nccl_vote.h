#pragma once

#include "comm/schedule/operation_request.h"

#include <cstdint>
#include <memory>

namespace dt {

/// How the ranks' calls that NCCL can play are played. The least of all ranks' wishes counts.
enum class DeviceRoute : int32_t {
  failed = -1,    ///< not at all: NCCL is required, and cannot connect the ranks
  staged = 0,     ///< by the engine, also all later ones
  undecided = 1,  ///< by the engine; the ranks vote again before the next one
  nccl = 2,       ///< by NCCL, also all later ones
};

/// All ranks vote how they play a call. The vote is an operation of the engine before the call,
/// which the ranks compare as the call. So all ranks change at the same call, and NCCL begins none
/// that a rank has not made.
class NcclVote {
 public:
  NcclVote(const OperationRequest& call, DeviceRoute own);

  /// The operation to play. It keeps the memory of the vote.
  const std::shared_ptr<Operation>& operation() const { return operation_; }
  /// Returns the route of all ranks. Requires that the operation has ended well.
  DeviceRoute route() const;

 private:
  std::shared_ptr<Operation> operation_;
};

}  // namespace dt
