#pragma once

#include "base/kernels/array_reduction.h"
#include "comm/device/buffer_ranges.h"
#include "comm/schedule/operation_request.h"
#include "gpu/copy_batch.h"
#include "gpu/nccl/nccl_call.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// A rank's part of a collective that NCCL runs, alone or together with others.
struct NcclPart {
  NcclCall::Kind kind = NcclCall::Kind::all_reduce;
  ElementType type = ElementType::float32;
  ElementType sent = ElementType::float32;  ///< differs from `type` where the data is compressed
  ReduceOp reduce = ReduceOp::sum;
  int root = 0;
  size_t count = 0;                  ///< as in NcclCall
  const std::byte* input = nullptr;  ///< null where this rank sends nothing
  size_t input_count = 0;
  std::byte* output = nullptr;  ///< may equal `input`; null where it gets nothing
  size_t output_count = 0;
  double prescale = 1;
  double postscale = 1;

  size_t sent_bytes() const { return input_count * element_bytes(sent); }
};

/// Returns the part of a call that nccl_can_play() and check_request() accept, of a single tensor.
NcclPart nccl_part(const OperationRequest& request, CallingRank self);
/// The same for one tensor of a list.
NcclPart nccl_part(const OperationRequest& list, const TensorOfList& tensor);

/// The work of a device, in this order. An average is a sum, which is divided afterwards. Scales
/// and compression have the same bits as in the engine; sums of 16-bit floats do not, because NCCL
/// rounds after each addition.
struct NcclPlan {
  std::vector<CopyBatch> before = {};  ///< scale and cast the inputs, or save them from NCCL
  NcclCall call = {};
  std::optional<ArrayReduction> divide = {};  ///< of the result
  std::vector<CopyBatch> after = {};          ///< cast and scale the results
};

/// Returns how much memory of the device the plan of a part needs.
size_t nccl_memory_bytes(const NcclPart& part, CallingRank self);
/// Plans a part in memory of that size.
NcclPlan plan_alone(const NcclPart& part, CallingRank self, std::byte* memory);
/// Plans several parts as one all_reduce, whose inputs lie behind each other in `memory`. It has
/// the sum of their sent_bytes(). Requires parts of all_reduce of one type, reduction and
/// compression.
NcclPlan plan_together(std::span<const NcclPart> parts, CallingRank self, std::byte* memory);

}  // namespace dt
