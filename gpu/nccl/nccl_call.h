#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "gpu/nccl/nccl_types.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace dt {

/// One rank's part of a collective, or a send or receive, in memory of its communicator's device.
///
/// Some buffers have a part for each rank, by rank, and `count` is the number of elements of one
/// part. These are `to` of all_gather, and of gather at its root. They are `from` of
/// reduce_scatter, and of scatter at its root. In all_to_all they are both.
struct NcclCall {
  enum class Kind : uint8_t {
    all_reduce,
    reduce,
    broadcast,
    all_gather,
    reduce_scatter,
    all_to_all,  ///< these three are sends and receives, which NCCL has in all versions
    gather,
    scatter,
    send,
    receive,
  };
  Kind kind = Kind::all_reduce;
  NcclType type = NcclType::float32;
  NcclOp op = NcclOp::sum;     ///< of reductions
  int peer = 0;                ///< the root, or the other rank of a send or receive
  size_t count = 0;            ///< 0 moves nothing
  const void* from = nullptr;  ///< null where this rank sends nothing
  void* to = nullptr;          ///< may equal `from`, but for all_to_all; null where it gets nothing
  CudaStreamHandle stream = nullptr;
};

/// The place of a rank in its communicator, and the version of its NCCL.
struct NcclPlace {
  int rank = 0;
  int size = 1;
  int version = 0;
};

/// Fails with Errc::input for a peer that does not exist, and for buffers that are null, or equal
/// in all_to_all. Fails with Errc::unsupported for a type that is newer than the library.
Result<> check(const NcclCall& call, const NcclPlace& place);

/// Returns NCCL's name: "ncclAllReduce"; for sends and receives of a collective, "ncclGroupEnd".
const char* nccl_name(NcclCall::Kind kind);

/// Returns NCCL's type for the elements; none for 16-bit integers and booleans. None for 8-bit
/// floats, too: NCCL has them since 2.24.3, and reduces them on GPUs since sm_90 only.
std::optional<NcclType> nccl_type(ElementType type);

/// Returns NCCL's type for elements that are only moved: one of bytes for all types of one byte.
std::optional<NcclType> nccl_moved_type(ElementType type);

/// Returns NCCL's operation. None for adasum, and for averages, which are the sum, divided at the
/// end.
std::optional<NcclOp> nccl_op(ReduceOp op);

/// Returns the operation of NCCL's part: an average is a sum, which we divide at the end.
constexpr ReduceOp op_by_nccl(ReduceOp op) {
  return op == ReduceOp::average ? ReduceOp::sum : op;
}

/// True when NCCL's results are those that dtrain.h promises. NCCL's minimum and maximum of floats
/// drop a NaN.
bool nccl_can_reduce(ElementType type, ReduceOp op);

/// True where NCCL's average has the bits of a sum that we divide, unless the sum overflows. NCCL
/// multiplies each float by 1/n, rounded to its type, before the sum (hostToDevRedOp() of its
/// enqueue.cc). With a power of two that loses nothing, but bits below the least normal number.
/// Small gradients in float16 are such numbers. Integers are divided behind the sum, by code that
/// differs between versions.
bool nccl_averages(ElementType type, size_t ranks);

size_t nccl_bytes(NcclType type);

}  // namespace dt
