#pragma once

#include "base/kernels/array_reduction.h"
#include "comm/device/buffer_ranges.h"
#include "comm/schedule/operation_request.h"
#include "gpu/copy_batch.h"
#include "gpu/nccl/nccl_call.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
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

/// Returns the part of a call that nccl_can_run() and check_request() accept, of a single tensor.
NcclPart nccl_part(const OperationRequest& request, CallingRank self);
/// The same for one tensor of a list.
NcclPart nccl_part(const OperationRequest& list, const TensorOfList& tensor);

/// The work of a device, in this order. An average is a sum, which is divided afterwards, or by the
/// factor of the copies that follow anyway, or by NCCL, where that has the same bits. Scales
/// and compression have the same bits as in the engine; sums of 16-bit floats do not, because NCCL
/// rounds after each addition.
struct NcclPlan {
  std::vector<CopyBatch> before = {};  ///< scale and cast the inputs, or save them from NCCL
  NcclCall call = {};
  std::optional<ArrayReduction> divide = {};  ///< of the result; none: nothing, or `after` does
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

/// Leaves a division to NCCL where its average has the same bits. All ranks do so, or none.
void let_nccl_divide(NcclPlan& plan, CallingRank self);

/// The order of a rank's calls that NCCL runs, which must be the same on all ranks. For one thread
/// at a time.
///
/// All ranks make calls without a name in one order, in which NCCL runs them while there are no
/// others. Calls by name come in any order. When all ranks have made one, rank 0 gives a slot to
/// each call of both kinds. The vote on a call tells them. Until then a rank may have begun a call
/// before its vote, so that the call has no slot anywhere.
///
/// A rank wishes that NCCL runs a call by name when its calls without a slot have begun, and their
/// inputs are there. It announces their number. NCCL runs the call where the numbers of all ranks
/// are equal, so that the same calls are before it on all.
class NcclOrder {
 public:
  /// Called when this rank makes a call by name, by any thread.
  void use_slots() { uses_slots_.store(true, std::memory_order_relaxed); }
  bool uses_slots() const { return uses_slots_.load(std::memory_order_relaxed); }

  /// Returns what stands for a call without a slot, until its input is there, or it has one.
  std::shared_ptr<void> expect_without_slot() { return expected_; }
  bool expects_without_slot() const { return expected_.use_count() > 1; }
  void begin_without_slot() { ++begun_without_slot_; }
  uint64_t begun_without_slot() const { return begun_without_slot_; }

  /// Returns a name by which the ranks agree on the slot of the next call without a name.
  std::string next_call_name(const std::string& name);

 private:
  std::atomic<bool> uses_slots_ = false;
  std::shared_ptr<void> expected_ = std::make_shared<char>();
  uint64_t begun_without_slot_ = 0;
  uint64_t calls_with_slot_ = 0;
};

}  // namespace dt
