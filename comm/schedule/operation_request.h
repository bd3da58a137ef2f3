#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/kernels/element.h"
#include "comm/schedule/algorithm.h"
#include "comm/schedule/operation_kind.h"
#include "comm/schedule/operation_result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// One call of a user. Buffers belong to the caller and live until the operation is done.
struct OperationRequest {
  OperationKind kind = OperationKind::barrier;
  ElementType type = ElementType::float32;
  ReduceOp reduce = ReduceOp::sum;
  uint32_t group = 0;  ///< 0: all ranks of the job
  int peer = 0;        ///< the root of a rooted collective, or the other rank; a rank in the group
  size_t count = 0;  ///< elements in the buffer; in one rank's part, where a buffer has a part for
                     ///< each rank
  const void* input = nullptr;
  void* output = nullptr;               ///< may equal input
  std::string name = {};                ///< for matching and messages; may be empty
  Duration timeout = Duration::zero();  ///< zero: none
  std::vector<size_t> counts = {};      ///< all_to_all_split: of the part for each rank
  /// For collectives over links: set by the engine. None: that of default_rules.
  std::optional<Algorithm> algorithm = {};
  std::shared_ptr<const Steps> steps = {};  ///< of a registered algorithm, instead of `algorithm`
  /// For operations whose ranks have own counts: set before submission.
  std::shared_ptr<OperationResult> result = {};
};

/// A submitted request: pending until `outcome` is set, exactly once.
struct Operation {
  OperationRequest request;
  uint64_t sequence = 0;  ///< of collectives on this communicator
  Time submitted;
  std::optional<Result<>> outcome;
  /// The rank to blame when it failed; -1 when there is none.
  int blamed_rank = -1;
};

}  // namespace dt
