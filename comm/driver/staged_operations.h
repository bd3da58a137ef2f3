#pragma once

#include "comm/driver/device_copies.h"
#include "comm/engine/engine.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace dt {

/// The pending operations on memory of devices, and those that must not overtake them. Called with
/// the driver's mutex locked.
///
///   add() ─ nothing before it waits ▶ steps ─ the last one ended well ▶ results ─ copied ▶ ended
///                                       └──────── one failed ──────────────┴─ failed ───────┘
///
/// The last step may also run beside the results. They count when both have ended well.
///
/// An operation on memory of the host waits here, too, until those before it let it pass. So ranks
/// whose copies take different times still make their calls in one order.
class StagedOperations {
 public:
  using Work = std::shared_ptr<Operation>;
  /// Passes an operation to the engine.
  using Submit = std::function<void(const Work&)>;

  bool empty() const { return entries_.empty(); }
  /// True for an operation that must pass through add().
  bool concerns(const Operation& operation) const;
  void add(Work work);
  /// True while copies are under way: nothing reports their end, so that the caller polls.
  bool copies() const;
  /// True while results wait for the operation beside them: nothing reports their failure.
  bool compares() const;
  bool has_group(uint32_t group) const;

  /// The outcome of a step.
  struct Progress {
    bool moved = false;
    Result<> result;  ///< fails when other ranks wait in vain: an input, or their work, is lost
  };
  /// Called before a step. Stops the operations whose results need the work of members of their
  /// group that the engine has lost. A rank that has left may have ended its part before, so that
  /// the work here gets some time.
  void stop_lost(const Engine& engine, Time now);
  /// Moves all operations as far as they can without waiting.
  Progress step(const Submit& submit);
  /// Waits until no copy uses a buffer. The operations get no outcome. Requires that the engine has
  /// ended.
  void finish();

 private:
  enum class Phase : uint8_t { waits, steps, results, ended };
  struct Entry {
    Work work;
    Phase phase = Phase::waits;
    Work running = {};       ///< what the engine runs of it, also beside its results; null: nothing
    bool passed = false;     ///< those behind it may go to the engine
    bool announced = false;  ///< the engine has got something of it: a join may go there
    std::optional<Time> lost_at = {};   ///< since when other ranks may not end its work
    std::optional<Error> differs = {};  ///< why the operation beside its results failed
    DeviceCopies* copies() const { return work->staged.get(); }
  };

  static bool works_with_others(const Entry& entry);
  bool must_wait(const Operation& operation, size_t before) const;
  bool advance(size_t index, const Submit& submit, Result<>& result);
  bool begin(size_t index, const Submit& submit);
  bool take_step(Entry& entry, const Submit& submit, Result<>& result);
  void run(Entry& entry, Work executed, const Submit& submit) const;
  bool can_block(const Entry& entry) const;
  static Result<bool> end_executed(Entry& entry);
  static bool copy_results(Entry& entry, Result<>& result);
  static void end(Entry& entry, Result<> outcome);

  std::vector<Entry> entries_;
};

}  // namespace dt
