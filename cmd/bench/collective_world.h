#pragma once

#include "base/result.h"
#include "cmd/bench/operation.h"
#include "cmd/bench/tensor_plan.h"
#include "comm/include/dtrain/dtrain.h"

#include <cstddef>
#include <string>

namespace dt {

/// The arguments of one collective.
struct CollectiveCall {
  BenchOperation operation = BenchOperation::all_reduce;
  const void* input = nullptr;  ///< null: in place, the output holds it
  void* output = nullptr;
  size_t count = 0;
  dtrain_type type = DTRAIN_FLOAT32;
  dtrain_op reduction = DTRAIN_SUM;
  const TensorPlan* plan = nullptr;  ///< of a fusion: the tensors in the buffers
  bool fused = true;                 ///< of a fusion: with names, so that small ones share buckets
};

/// The library that is measured, joined with the other ranks. Every rank makes the same calls.
class CollectiveWorld {
 public:
  virtual ~CollectiveWorld() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string host() const = 0;
  /// Blocks until the call is done on this rank. A latency is a message from rank 0 to rank 1 and
  /// back; other ranks return at once. A fusion is an all_reduce of each tensor.
  virtual Result<> run(const CollectiveCall& call) = 0;
  virtual Result<> barrier() = 0;
  /// Returns zeroed memory of the library's own, for buffers.
  virtual Result<void*> allocate(size_t bytes) = 0;
  /// Frees what allocate() has returned; null does nothing.
  virtual void free(void* memory) = 0;
};

}  // namespace dt
