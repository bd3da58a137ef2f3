#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/api/fork_detector.h"
#include "comm/api/init_options.h"
#include "comm/api/rank_layout.h"
#include "comm/device/device_calls.h"
#include "comm/driver/driver.h"
#include "comm/engine/engine.h"
#include "comm/memory/program_memory.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

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
  Driver& driver() { return shared_->driver; }
  /// As Driver::run(), for an operation whose buffers may lie in memory of a device.
  Result<> run(const CallArguments& call) {
    if (!shared_->devices.may_concern(call)) return shared_->driver.run(call);
    return run_on_device(call);
  }
  /// As Driver::start(), for such an operation.
  Result<Driver::Work> start(const CallArguments& call);
  /// All tasks of the job, also those without rank; those of a group for its context.
  const TaskTable& tasks() const { return members_.tasks; }
  /// This task's claim towards other tasks; none when it is alone.
  const std::optional<Claim>& claim() const { return shared_->claim; }
  Duration dead_after() const { return shared_->dead_after; }
  ProgramMemory& memory() { return shared_->memory; }
  bool uses_nccl() const { return shared_->devices.uses_nccl(); }
  /// The number of the group in the engine; 0: all ranks of the job.
  uint32_t group() const { return members_.group; }
  /// Fails all pending operations of the group. For the group of the whole job, fails those of all
  /// groups, and frees the program's memory.
  void finalize();
  /// True in a fork of the process that made the context. The fork must not use the context. A
  /// thread of the parent may have locked the mutex, and the sockets belong to the parent.
  bool forked() const { return shared_->fork_detector.forked(); }

  /// The arguments of one rank to split().
  struct Part {
    int color = 0;  ///< ranks with the same color form a group; negative: this rank is in none
    int key = 0;    ///< orders the ranks of a group; equal keys are ordered by rank
  };
  /// Splits the parent's group into smaller ones. Returns null for a rank that is in no group. A
  /// collective of that group, with the name and the timeout of `options`. Threads of one rank
  /// split one after the other.
  static Result<std::shared_ptr<Context>> split(const Context& parent, Part part,
                                                const CallArguments& options);
  /// Makes a group of these ranks of the parent's group, in their order. This rank is one of them.
  /// Only they call it. Threads of one rank make groups one after the other. The timeout of
  /// `options` is for the agreement of the members, and for both calls for their memory.
  static Result<std::shared_ptr<Context>> group(const Context& parent, std::span<const int> ranks,
                                                const CallArguments& options);

 private:
  /// The parts that the contexts of all groups share.
  struct Shared {
    explicit Shared(Driver::Parts parts)
        : memory(parts.mesh ? parts.mesh->shared_heap() : nullptr), driver(std::move(parts)) {}
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() { finish(); }
    /// Ends all operations, then the members that operations use.
    void finish();
    /// NCCL may connect the devices of the ranks.
    void allow_nccl(uint32_t generation, std::string host, bool required);
    ProgramMemory memory;
    DeviceCalls devices;
    Driver driver;
    std::optional<Claim> claim;  ///< none: a job of one rank
    Duration dead_after = {};
    bool host_memory = false;  ///< ranks of one host share memory; equal on all ranks
    std::mutex splitting;
    ForkDetector fork_detector;
  };
  /// The ranks of the group.
  struct Members {
    uint32_t group = 0;
    TaskTable tasks;             ///< with their ranks in the group
    std::vector<int> job_ranks;  ///< by rank in the group
  };

  Context(Members members, RankLayout layout, std::shared_ptr<Shared> shared);
  static Result<std::shared_ptr<Context>> agreed_group(const Context& parent,
                                                       std::span<const int> ranks,
                                                       const CallArguments& options);
  bool can_share_memory() const;
  Result<Driver::Work> stage(const CallArguments& call);
  Result<> run_on_device(const CallArguments& call);
  static Result<std::shared_ptr<Context>> create_group(const Context& parent, uint32_t number,
                                                       const GroupMembers& chosen);
  static Result<std::shared_ptr<Context>> context_of_group(const Context& parent, uint32_t number,
                                                           std::span<const int> ranks);

  Members members_;
  RankLayout layout_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Context> agreed_ = {};  ///< the group whose members have made this one of memory
};

}  // namespace dt
