#pragma once

#include "comm/collective/terms.h"
#include "comm/collective/work_memory.h"
#include "comm/schedule/operation_request.h"

#include <memory>
#include <vector>

namespace dt {

/// Named calls that run in one collective. Several calls of all_reduce are copied behind each
/// other, each with its own scales. A single call uses its own buffers.
class Bucket {
 public:
  /// Requires calls that can be fused, if there are several: all_reduce of one type, reduction and
  /// compression.
  /// `average_over` is the number of ranks whose average they are; 0: of all.
  explicit Bucket(std::vector<std::shared_ptr<Operation>> members, int average_over = 0);
  Bucket() = default;  ///< to be assigned

  /// Copies the inputs of several members to `memory`, and returns the collective for all of them.
  /// It uses that memory until distribute(), or the buffers of the only member.
  OperationRequest request(uint32_t group, WorkMemory& memory);
  /// Copies the results to the members. Called when that collective has succeeded.
  void distribute(ScalingRank self);
  const std::vector<std::shared_ptr<Operation>>& members() const { return members_; }

 private:
  std::vector<std::shared_ptr<Operation>> members_;
  int average_over_ = 0;
  const std::byte* sums_ = nullptr;  ///< null with one member
};

}  // namespace dt
