#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/api/fork_detector.h"
#include "comm/api/rank_layout.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class Driver;
class ProgramMemory;
class RendezvousClient;
struct Claim;
struct GroupCall;
struct InitOptions;
struct Operation;
struct OperationRequest;

/// The options of a call that is no operation.
struct CallOptions {
  std::string name = {};
  Duration timeout = Duration::zero();  ///< zero: none
};

/// A rank in a group of ranks, for C++ and behind a handle of the public API. It has this rank's
/// layout within the group, and the driver of the engine. All groups of the job share the driver.
class Context {
 public:
  /// A job of one rank, without network.
  static std::shared_ptr<Context> alone();
  /// Joins all other ranks. The error has the rank to blame, if there is one.
  static Result<std::shared_ptr<Context>> join(const InitOptions& options);
  /// The same over a connection of this task to the rendezvous.
  static Result<std::shared_ptr<Context>> join(const InitOptions& options,
                                               std::unique_ptr<RendezvousClient> client,
                                               Time deadline);

  /// Connects to the job's rendezvous, which only a lost or foreign job lacks.
  static Result<std::unique_ptr<RendezvousClient>> connect(const InitOptions& options,
                                                           Time deadline);
  /// A connection to the rendezvous, and the end of the time in which to join.
  struct Connected {
    std::unique_ptr<RendezvousClient> client;
    Time deadline;
  };
  /// The same within the time of `options`.
  static Result<Connected> connect(const InitOptions& options);

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const RankLayout& layout() const { return layout_; }
  Driver& driver() { return driver_; }
  /// As Driver::run(), for an operation whose buffers may lie in memory of a device.
  Result<> run(OperationRequest&& request, std::string_view name = {});
  /// As Driver::start(), for such an operation.
  Result<std::shared_ptr<Operation>> start(const OperationRequest& request);
  /// All tasks of the job, also those without rank; those of a group for its context.
  const TaskTable& tasks() const { return members_.tasks; }
  /// This task's claim towards other tasks; none when it is alone.
  const std::optional<Claim>& claim() const;
  Duration dead_after() const;
  ProgramMemory& memory();
  /// NCCL runs the group's collectives on memory of devices that it can run, and such calls fail
  /// where it cannot connect the members. All members call it before their first one, with a key
  /// that no other group of the job has.
  void require_nccl(const std::string& key);
  /// True when the ranks of the group have agreed that NCCL runs them.
  bool uses_nccl() const;
  /// The number of the group in the engine; 0: all ranks of the job.
  uint32_t group() const { return members_.group; }
  /// Fails all pending operations of the group. For the group of the whole job, fails those of all
  /// groups, and frees the program's memory.
  void finalize();
  /// True in a fork of the process that made the context. The fork must not use the context. A
  /// thread of the parent may have locked the mutex, and the sockets belong to the parent.
  bool forked() const { return fork_detector_.forked(); }

  /// The arguments of one rank to split().
  struct Part {
    int color = 0;  ///< ranks with the same color form a group; negative: this rank is in none
    int key = 0;    ///< orders the ranks of a group; equal keys are ordered by rank
  };
  /// Splits the parent's group into smaller ones. Returns null for a rank that is in no group. A
  /// collective of that group, with the name and the timeout of `options`. Either all members of a
  /// new group have it afterwards, or none. Threads of one rank split one after the other.
  static Result<std::shared_ptr<Context>> split(const Context& parent, Part part,
                                                const CallOptions& options);
  /// Makes a group of these ranks of the parent's group, in their order. This rank is one of them.
  /// Only they call it. Threads of one rank make groups one after the other.
  static Result<std::shared_ptr<Context>> group(const Context& parent, std::span<const int> ranks,
                                                const CallOptions& options);

 private:
  /// The parts that the contexts of all groups share.
  struct Shared;
  /// The ranks of the group.
  struct Members {
    uint32_t group = 0;
    TaskTable tasks;             ///< with their ranks in the group
    std::vector<int> job_ranks;  ///< by rank in the group
  };

  Context(Members members, RankLayout layout, std::shared_ptr<Shared> shared);
  static Result<std::shared_ptr<Context>> agree(const Context& parent, std::span<const int> ranks,
                                                GroupCall call);
  Result<std::shared_ptr<Operation>> stage(const OperationRequest& request);
  Result<> run_on_device(OperationRequest request, std::string_view name);
  static Result<std::shared_ptr<Context>> context_of_group(const Context& parent, uint32_t number,
                                                           std::span<const int> ranks);

  Members members_;
  RankLayout layout_;
  std::shared_ptr<Shared> shared_;
  // Parts of `shared_` that each call needs.
  Driver& driver_;
  const ForkDetector& fork_detector_;
};

}  // namespace dt
