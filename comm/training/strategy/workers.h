#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "comm/api/own_context.h"
#include "comm/schedule/algorithm.h"
#include "comm/schedule/operation_request.h"
#include "comm/training/strategy/worker_record.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dt {

class Context;

/// Elements that all workers have, in memory of the host or of a device.
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

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return size_ == 1; }
  /// The group's context; that of the job where this rank is alone, and after abort().
  dtrain_context* group() const { return group_ == nullptr ? context_ : group_.get(); }

  /// Reduces each tensor in place, by the group's call on that memory. Fails as it does.
  Result<> all_reduce(std::span<const WorkerTensor> tensors, ReduceOp op);
  /// NCCL connects the devices of all workers, and then runs the reductions that it can run.
  /// `number` has four bytes, in memory of this worker's device. A collective, which fails at every
  /// worker when NCCL cannot connect one.
  Result<> connect_by_nccl(std::byte* number);
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

  /// Sentences about libraries of other workers that differ from those of rank 0.
  const std::vector<std::string>& doubts() const { return doubts_; }

  /// Ends the strategy at all workers: their calls fail with the error, which names this rank.
  void abort(const Error& error);
  /// Fails with the error that has ended the strategy.
  Result<> status() const;

 private:
  explicit Workers(dtrain_context* context);
  Result<> join_all(const WorkerRecord& own);
  /// Calls a body with the context of the group. A failure ends the strategy.
  template <class Body>
  auto in_group(const Body& body) -> decltype(body(std::declval<Context&>()));
  /// Returns a call with bytes and the time limit of this.
  OperationRequest call_of(OperationKind kind) const;
  /// Performs a call of the group.
  Result<> run(OperationRequest call);
  Result<> all_gather(std::span<const std::byte> own, std::span<std::byte> all);
  /// Returns the reason that another worker has left in the store; empty: none.
  std::string left_reason() const;

  dtrain_context* context_;
  int rank_;
  int size_;
  OwnContext group_ = {};    ///< null: alone, or aborted
  bool on_devices_ = false;  ///< some worker has a GPU, or they have NCCL
  std::vector<std::string> doubts_ = {};
  std::string reason_key_ = {};
  Duration timeout_ = {};
  std::optional<Error> ended_ = {};
};

}  // namespace dt
