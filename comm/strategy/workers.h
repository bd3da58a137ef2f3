#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "comm/dtrain.h"
#include "comm/strategy/worker_record.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace dt {

/// Elements in memory of the host that all workers have.
struct WorkerTensor {
  ElementType type = ElementType::float32;
  size_t count = 0;
  std::byte* at = nullptr;
};

/// The processes of a strategy, seen from one of them: a group of their own. An error of one call
/// is final, at every worker. One thread at a time.
class Workers {
 public:
  /// All ranks of the context make a group, if their records agree. A collective, which fails at
  /// every rank when it does at one. *blamed_rank is then the rank to blame, or -1. The context
  /// must outlive this.
  static Result<std::unique_ptr<Workers>> join(dtrain_context* context, const WorkerRecord& own,
                                               int timeout_ms, int* blamed_rank);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  int rank() const { return dtrain_rank(context_); }
  int size() const { return dtrain_size(context_); }
  bool alone() const { return size() == 1; }
  dtrain_context* group() const { return group_ == nullptr ? context_ : group_; }
  /// The rank to blame for the last error; -1: none.
  int blamed_rank() const { return blamed_rank_; }

  /// Reduces each tensor in place. Fails as all_reduce does.
  Result<> all_reduce(std::span<const WorkerTensor> tensors, ReduceOp op);
  /// Replaces the bytes by those of rank 0.
  Result<> broadcast(std::span<std::byte> bytes);
  /// Returns rank 0's outcome at every rank. `outcome` of the others is not used.
  Result<> share(const Result<>& outcome);
  /// Fails where this rank's description differs from that of rank 0, which is named with both.
  Result<> compare(const std::string& description);
  /// Ends the strategy at all workers: their calls fail with the error, which names this rank.
  void abort(const Error& error);
  /// Fails with the error that has ended the strategy.
  Result<> status() const;

 private:
  explicit Workers(dtrain_context* context) : context_(context) {}
  Result<> join_all(const WorkerRecord& own);
  dtrain_op_options call_options() const;
  /// Converts the outcome of a call. A failure ends the strategy.
  Result<> checked(int status, const dtrain_error& error);
  /// Returns the reason that another worker has left in the store; empty: none.
  std::string left_reason() const;

  dtrain_context* context_;
  dtrain_context* group_ = nullptr;  ///< null: alone, or aborted
  std::string reason_key_ = {};
  int timeout_ms_ = 0;
  int blamed_rank_ = -1;
  std::optional<Error> ended_ = {};
};

}  // namespace dt
