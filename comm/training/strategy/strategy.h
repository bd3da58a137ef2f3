#pragma once

#include "comm/training/strategy/job_entry.h"
#include "comm/training/strategy/placement_log.h"
#include "comm/training/strategy/replica_meeting.h"
#include "comm/training/strategy/replica_reducer.h"
#include "comm/training/strategy/replica_threads.h"
#include "comm/training/strategy/served_variables.h"
#include "comm/training/strategy/variable.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace dt {

class Strategy;

/// One replica within its step.
struct Replica {
  Strategy& strategy;
  size_t local = 0;          ///< its number in this process
  std::string failure = {};  ///< the text that the step has set
};

/// A gradient of one replica, for a variable of the same count and type.
struct Gradient {
  Variable* variable = nullptr;
  std::byte* at = nullptr;
};

/// The replicas of one process, and their part in those of all workers: variables, steps and
/// reductions. Calls between steps are made by one thread at a time; those that take a Replica by
/// its thread.
class Strategy {
 public:
  /// A collective of the context, which must outlive this. See dtrain_strategy_create.
  static Result<std::unique_ptr<Strategy>> create(dtrain_context* context,
                                                  const StrategyRequest& request,
                                                  const Environment& environment);
  /// Joins the job by itself, after all workers have compared their strategies.
  static Result<std::unique_ptr<Strategy>> join(const StrategyRequest& request,
                                                const Environment& environment);

  StrategyName name() const { return options_.name; }
  size_t local_replicas() const { return devices_->count(); }
  size_t replicas() const { return local_replicas() * worker_count_; }
  size_t first_replica() const { return local_replicas() * worker_; }
  size_t worker() const { return worker_; }
  size_t worker_count() const { return worker_count_; }
  bool is_chief() const { return worker_ == 0; }
  const PlacementLog& placement() const { return placement_; }
  Workers& workers() { return *workers_; }
  ReplicaDevices& devices() { return *devices_; }

  /// Makes a variable with rank 0's value; null: zeros. A collective.
  Result<Variable*> add_variable(const VariableTerms& terms, const std::byte* initial);
  /// The variables by name.
  const std::map<std::string, std::unique_ptr<Variable>>& variables() const { return variables_; }
  /// True for a variable of this strategy.
  bool has(const Variable* variable) const;
  /// See dtrain_variable_read and dtrain_variable_write.
  Result<> read(const Variable& variable, std::byte* to);
  Result<> write(Variable& variable, const std::byte* from);
  /// Waits for the other workers of parameter servers; for those of a group, it is not necessary.
  Result<> await_workers();
  /// Reduces an array of each local replica, in memory of the host.
  Result<> reduce(const std::vector<const std::byte*>& inputs, const WorkerTensor& output,
                  ReduceOp op);

  using Step = std::function<Result<>(Replica&)>;
  /// See dtrain_strategy_run.
  Result<> run(const Step& step);

  // Within a step.
  Result<> all_reduce(const Replica& replica, ReplicaTensors tensors, ReduceOp op);
  using Update = std::function<Result<>(size_t)>;
  Result<> apply(const Replica& replica, std::span<const Gradient> gradients, ReduceOp op,
                 const Update& update);
  Result<> assign(const Replica& replica, Variable& variable, const std::byte* value);

 private:
  explicit Strategy(StrategyOptions options) : options_(std::move(options)) {}
  bool shares_variables() const { return options_.name == StrategyName::central_storage; }
  /// Opens the devices of this process.
  static Result<std::unique_ptr<Strategy>> open(const StrategyOptions& options,
                                                const Environment& environment);
  /// A strategy without workers, or the reason why there is none, for their record.
  struct Prepared {
    Result<std::unique_ptr<Strategy>> strategy;
    WorkerRecord record = {};
    /// Returns its own failure, if it has one, and blames the rank that the comparison has found.
    tl::unexpected<Error> failure_or(Error compared) const;
  };
  static Prepared prepare(const StrategyRequest& request, const Environment& environment,
                          int workers);
  /// Makes the group of all ranks of the context. `prepared` may have failed.
  static Result<std::unique_ptr<Strategy>> with_workers(Prepared prepared, dtrain_context* context);
  /// Connects to the parameter servers.
  Result<> serve(JobEntry entry, const WorkerRecord& record);
  void begin();
  Result<> check_open() const;
  Result<> check_gradient(const Gradient& gradient) const;
  /// A reduction of an apply(), or of an all_reduce(), which has no gradients.
  struct Reduction {
    ReduceOp op = ReduceOp::sum;
    std::span<const Gradient> gradients = {};
  };
  Result<> meet_to_reduce(const Replica& replica, std::string text, ReplicaTensors& tensors,
                          const Reduction& reduction);
  /// Gives all copies the value of the first replica of all workers.
  Result<> assign_first(const Replica& replica, const Variable& variable, const std::byte* value);
  Result<> write_copies(const Variable& variable, const std::byte* from);
  Result<> end_step();
  bool is_served(const Variable& variable) const {
    return served_ != nullptr && ServedVariables::serves(variable.terms());
  }
  /// Called while all replicas wait, after a reduction and before the updates.
  Result<> begin_served(const Reduction& reduction, const std::vector<ReplicaTensors*>& reduced);
  Result<> multiply(size_t replica, const ReplicaTensor& tensor, double factor) const;
  /// Called while all replicas wait, after the updates.
  Result<> end_served(std::span<const Gradient> gradients);

  StrategyOptions options_;
  PlacementLog placement_ = PlacementLog();
  OwnContext own_context_ = {};   ///< null: the caller's is used
  OwnContext host_context_ = {};  ///< of the workers on this host; null: they reduce nothing
  std::unique_ptr<Workers> workers_ = {};
  /// They call NCCL, and its communicators may refer to threads that have called it until they end.
  std::unique_ptr<ReplicaThreads> threads_ = {};
  std::unique_ptr<ReplicaDevices> devices_ = {};
  std::unique_ptr<ReplicaReducer> reducer_ = {};
  std::unique_ptr<ReplicaMeeting> meeting_ = {};
  std::map<std::string, std::unique_ptr<Variable>> variables_ = {};
  std::unique_ptr<ServedVariables> served_ = {};            ///< null: no parameter servers
  std::vector<std::vector<std::byte>> served_before_ = {};  ///< of an update, by gradient
  std::optional<Error> ended_ = {};                         ///< by which the servers were left
  size_t worker_ = 0;
  size_t worker_count_ = 1;
  bool running_ = false;
};

}  // namespace dt
