#pragma once

#include "base/result.h"
#include "comm/training/ps/state/messages.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dt {

/// A task that may use the parameter servers. Its number is its index in the job's table.
struct PsWorker {
  TaskId id;
  std::string host;
  bool takes_part = false;  ///< it trains: it has a rank
};

/// Server 0's decisions about steps: which workers' pushes make a synchronous round, which workers
/// wait in bounded staleness, and barriers. No I/O, no clock.
///
/// A worker sends a commit when all servers have its push:
///
///   sync     committed ─ `count` workers have, or all that have not left ─▶ done, the round is
///   decided
///                 ├─ the mode changes ─▶ mode_changed, the push has no effect
///                 └─ too few workers can commit ─▶ an error that names one that cannot
///   bounded  committed ─ no worker is more than `count` pushes behind ─▶ done
class StepCoordinator {
 public:
  explicit StepCoordinator(std::vector<PsWorker> workers);

  /// A request that waits, or waited, for its answer.
  struct Caller {
    uint32_t worker = 0;
    uint32_t request = 0;
    auto operator<=>(const Caller&) const = default;
  };
  struct Answer {
    Caller caller;
    PsVerdict verdict = PsVerdict::done;
    std::optional<Error> error = {};
  };

  const PsMode& mode() const { return mode_; }
  const PsDecision& decision() const { return decision_; }
  uint64_t step() const { return step_; }
  /// Continues at the step of a checkpoint.
  void set_step(uint64_t step) { step_ = step; }

  /// Fails with Errc::input for a count that the mode cannot have. Waits of the mode before end. A
  /// `count` of 0 workers means all that train.
  Result<> set_mode(PsMode::Kind kind, uint32_t count);
  /// Notes a push that servers apply at once. `seen_step` is the step of its values.
  void applied_push(uint32_t worker, uint64_t seen_step);
  /// True when a synchronous push of that round comes too late; counts it.
  bool stale_push(uint32_t worker, uint64_t round);
  void commit(Caller caller, const CommitRequest& request);
  void barrier(Caller caller);
  /// Called when a worker connects: it takes part, also after it has left. Its waits of before end
  /// without answers.
  void connected(uint32_t worker);
  /// Called when a worker has left well. Rounds with workers to spare do not need it any more.
  void left(uint32_t worker, const std::string& how);
  /// Called when a worker has died, also after it has left. Its waits end without answers. A
  /// barrier waits for a worker that `returns`.
  void gone(uint32_t worker, const std::string& why, bool returns = false);
  /// Called when a worker begins anew. A commit of its attempt before has no effect any more.
  void restarted(uint32_t worker);
  bool takes_part(uint32_t worker) const;
  /// True while the worker waits for the answer to a commit.
  bool waits(uint32_t worker) const { return waiting_.contains(worker); }

  std::vector<Answer> take_answers();
  void count_into(PsStatus& status) const;

 private:
  struct State {
    bool lives = true;
    bool left = false;     ///< it does not live, and has left well
    bool returns = false;  ///< it does not live, but is expected
    std::string end = {};  ///< why it does not live
    uint64_t clock = 0;    ///< pushes in the bounded mode
    uint64_t pushes = 0;
    uint64_t stale = 0;
  };
  void commit_sync(Caller caller, const CommitRequest& request);
  void commit_bounded(Caller caller, const CommitRequest& request);
  void end(uint32_t worker, const std::string& why, bool returns);
  void answer(Caller caller, PsVerdict verdict, std::optional<Error> error = {});
  void decide();
  void review_bounded();
  void review_barrier();
  size_t needed() const;
  bool can_commit(uint32_t worker) const;
  std::optional<uint64_t> slowest_clock() const;
  Error too_few(size_t able) const;
  void count_staleness(uint64_t seen_step);
  std::string name(uint32_t worker) const;

  std::vector<PsWorker> workers_;
  std::vector<State> states_;
  PsMode mode_;
  PsDecision decision_;
  uint64_t step_ = 0;
  std::set<uint32_t> committed_;             ///< workers, in the round that is not decided yet
  std::map<uint32_t, uint32_t> waiting_;     ///< requests of commits, by worker
  std::map<uint32_t, uint32_t> in_barrier_;  ///< requests, by worker
  std::array<uint64_t, PsStatus::buckets> staleness_ = {};
  std::vector<Answer> answers_;
};

}  // namespace dt
