#pragma once

#include "base/clock.h"
#include "base/kernels/element.h"
#include "base/result.h"
#include "choices/operation_kind.h"
#include "comm/schedule/algorithm.h"
#include "comm/schedule/call_agreement.h"
#include "comm/schedule/operation_result.h"
#include "comm/schedule/operation_terms.h"
#include "comm/schedule/operation_times.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// One of the tensors of a call that has several.
struct TensorOfList {
  ElementType type = ElementType::float32;
  size_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;  ///< may equal input
  bool has_shape = false;
  std::vector<uint64_t> shape = {};
  std::string name = {};  ///< by which it matches alone; empty: it matches with its list
};

/// A call whose buffers are compressed: its own type and output, and the memory of the others.
struct Compressed {
  ElementType type = ElementType::float32;
  void* output = nullptr;
  std::shared_ptr<std::byte[]> memory = {};
};

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
  void* output = nullptr;  ///< may equal input
  std::string name = {};   ///< for matching and messages; may be empty
  /// The collective matches by its place among the unnamed ones, although it has a name.
  bool in_sequence = false;
  Duration timeout = Duration::zero();  ///< zero: none
  bool blocks = false;                  ///< the caller's thread waits for it
  int priority = 0;                     ///< of a collective that matches by name; see NameArrival
  /// all_to_all_v, reduce_scatter: of the part for each rank. Empty: these are even.
  std::vector<size_t> counts = {};
  /// all_reduce: instead of the buffers and the type above. Each is a named collective of its own.
  std::vector<TensorOfList> tensors = {};
  std::optional<OperationTerms> terms = {};  ///< none: those of a default OperationTerms
  void* stream = nullptr;  ///< of the caller, for buffers in memory of a device; null: none
  /// The engine's own memory for the input, which is not scaled again.
  std::shared_ptr<std::byte[]> scaled_input = {};
  /// Set while it runs. Type, input and output are then those of the compressed data.
  std::optional<Compressed> compressed = {};
  /// Set by the engine where the ranks of one host run a part of a larger collective. All buffers
  /// of reduce_scatter and all_gather have `count` elements then. The first members own so many
  /// nearly equal parts of them. 0: no lanes.
  int lanes = 0;
  /// For collectives over links: set by the engine. None: that of default_rules.
  std::optional<Algorithm> algorithm = {};
  std::shared_ptr<const Steps> steps = {};  ///< of a registered algorithm, instead of `algorithm`
  /// For operations whose result the engine allocates: set before submission.
  std::shared_ptr<OperationResult> result = {};
  /// The call that follows this operation, which prepares it. The ranks compare that call, and
  /// messages name it. Null for most.
  std::shared_ptr<const OperationRequest> announced = {};
  /// Set for a call by name that moves no data, and reads no buffer: the ranks only agree on it.
  std::shared_ptr<CallAgreement> agreement = {};
  /// The ranks have agreed that the engine runs this call by name. It may follow a join.
  bool follows_agreement = false;
};

/// Returns the bytes of `count` elements.
inline size_t bytes_of(const OperationRequest& request) {
  return request.count * element_bytes(request.type);
}

/// The call of the user, also where another operation prepares it.
inline const OperationRequest& called(const OperationRequest& request) {
  return request.announced ? *request.announced : request;
}

/// The type of the call, also while its data is compressed.
inline ElementType called_type(const OperationRequest& request) {
  return request.compressed ? request.compressed->type : request.type;
}

/// True for collectives that match by name, in any order. A join has no name, but concerns those.
inline bool matches_by_name(const OperationRequest& request) {
  if (request.kind == OperationKind::join || !request.tensors.empty()) return true;
  return is_collective(request.kind) && !request.name.empty() && !request.in_sequence;
}

class DeviceCopies;
class QueuedResults;

/// A submitted request: pending until `outcome` is set, exactly once.
struct Operation {
  OperationRequest request;
  uint64_t sequence = 0;  ///< of collectives on this communicator
  Time submitted;
  std::optional<Result<>> outcome;
  /// The rank to blame when it failed; -1 when there is none.
  int blamed_rank = -1;
  /// The monotonic clock; null for operations without times, because it takes long to read.
  Time (*clock)() = nullptr;
  OperationTimes times = {};
  /// The call of several tensors that this is a part of; null for most. It ends with its last part.
  std::shared_ptr<Operation> list = {};
  size_t part = 0;                        ///< its index in that call
  size_t parts_left = 0;                  ///< of a call of several tensors: that have not ended
  std::optional<Error> failed_part = {};  ///< the error of the first that has failed
  /// For a call on memory of a device: its steps, some of which the engine runs. Null for most.
  /// Only the driver reads it; the engine never gets such a call.
  std::shared_ptr<DeviceCopies> staged = {};
  /// For such a call that does not block: behind which streams can wait. Null for others.
  std::shared_ptr<QueuedResults> results = {};
};

}  // namespace dt
