#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "comm/include/dtrain/dtrain.h"
#include "comm/schedule/algorithm.h"
#include "comm/training/strategy/worker_record.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
  /// every rank when it does at one. The context must outlive this.
  static Result<std::unique_ptr<Workers>> join(dtrain_context* context, const WorkerRecord& own,
                                               int timeout_ms);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  int rank() const { return dtrain_rank(context_); }
  int size() const { return dtrain_size(context_); }
  bool alone() const { return size() == 1; }
  dtrain_context* group() const { return group_ == nullptr ? context_ : group_; }

  /// Reduces each tensor in place. Fails as all_reduce does.
  Result<> all_reduce(std::span<const WorkerTensor> tensors, ReduceOp op);
  /// Returns one rank's steps by an algorithm that the program has registered. Fails with
  /// Errc::input when there is none, and when its steps are wrong.
  Result<Steps> registered_steps(const std::string& name, Group ranks,
                                 const CollectiveShape& shape) const;
  /// Replaces the bytes by those of rank 0.
  Result<> broadcast(std::span<std::byte> bytes);
  /// Returns rank 0's outcome at every rank. `outcome` of the others is not used.
  Result<> share(const Result<>& outcome);
  /// Fails where this rank's description differs from that of rank 0, which is named with both.
  Result<> compare(const std::string& description);
  /// Returns when all workers have described their calls, and these are equal. Else fails as
  /// compare() does.
  Result<> agree(const std::string& call);

  /// Work of another library follows, such as NCCL, until end_watch(). A failure of another worker
  /// is known meanwhile.
  Result<> begin_watch();
  /// Fails with the reason for which the other workers will not end that work. Waits for nothing.
  Result<> check_watch();
  /// Waits some seconds at most until check_watch() fails. Called when the other library reports
  /// that a peer is gone.
  Result<> await_reason();
  /// Called when that work is done here. Waits for one other worker.
  Result<> end_watch();

  /// Sentences about libraries of other workers that differ from those of rank 0.
  const std::vector<std::string>& doubts() const { return doubts_; }

  /// Ends the strategy at all workers: their calls fail with the error, which names this rank.
  void abort(const Error& error);
  /// Fails with the error that has ended the strategy.
  Result<> status() const;

 private:
  explicit Workers(dtrain_context* context) : context_(context) {}
  Result<> join_all(const WorkerRecord& own);
  dtrain_op_options call_options() const;
  /// Converts the outcome of the watch.
  Result<> watched(int status, const dtrain_error& error);
  /// Sends the previous worker, whose watch receives it, how the work here has ended.
  int send_watch(uint8_t how, int timeout_ms, dtrain_error* error) const;
  /// Converts the outcome of a call. A failure ends the strategy.
  Result<> checked(int status, const dtrain_error& error);
  /// Returns the reason that another worker has left in the store; empty: none.
  std::string left_reason() const;

  struct FreeWork {
    void operator()(dtrain_work* work) const { dtrain_work_free(work); }
  };

  dtrain_context* context_;
  dtrain_context* group_ = nullptr;  ///< null: alone, or aborted
  /// The pending receive of the end of another worker's work; null: no watch.
  std::unique_ptr<dtrain_work, FreeWork> watch_ = {};
  uint8_t watched_ = 0;  ///< what the watch receives
  std::vector<std::string> doubts_ = {};
  std::string reason_key_ = {};
  int timeout_ms_ = 0;
  std::optional<Error> ended_ = {};
};

}  // namespace dt
