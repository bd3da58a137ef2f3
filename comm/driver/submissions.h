#pragma once

#include "comm/driver/inbox.h"
#include "comm/driver/staged_operations.h"
#include "comm/engine/engine.h"

#include <functional>
#include <memory>
#include <string_view>

namespace dt {

/// The way of operations to the engine. Those on memory of devices, and those behind them, wait
/// among the staged ones. All functions but inbox() require the driver's mutex.
class Submissions {
 public:
  using Work = Inbox::Work;
  /// Called when memory runs out: the engine may not have queued the operation.
  using Abort = std::function<void(std::string_view why)>;

  Submissions(Engine& engine, Abort abort) : engine_(engine), abort_(std::move(abort)) {}

  Inbox& inbox() { return inbox_; }
  const StagedOperations& staged() const { return staged_; }

  void submit(const Work& work, Time now);
  /// Submits all operations of the inbox.
  void submit_inbox(Time now);
  /// Moves the staged operations. When other ranks wait in vain, they learn it. Returns true if
  /// anything moved.
  bool step_staged(Time now);
  /// Called after the end of the engine: no stream may wait for operations that came too late.
  void drop_inbox();
  /// Waits until no copy uses a buffer. Requires that the engine has ended.
  void finish();

 private:
  void submit_to_engine(const Work& work, Time now);
  void fail_for_memory(const Work& work, std::string_view why);

  Engine& engine_;
  Abort abort_;
  Inbox inbox_;
  StagedOperations staged_;
};

}  // namespace dt
