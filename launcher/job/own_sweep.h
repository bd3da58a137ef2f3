#pragma once

#include "base/io/log.h"
#include "launcher/process/sweep.h"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

namespace dt {

/// Ends the processes that a lost agent of this machine has left behind. They are now children of
/// the launcher, a subreaper.
class OwnSweep {
 public:
  /// All of it outlives this object.
  struct Dependencies {
    Loop& loop;
    Log& log;
    std::function<bool(pid_t)> owns_other;  ///< true for children that others reap
    std::vector<pid_t> spared;              ///< children that are older than any agent
  };
  explicit OwnSweep(Dependencies parts) : parts_(std::move(parts)) {}
  OwnSweep(const OwnSweep&) = delete;
  OwnSweep& operator=(const OwnSweep&) = delete;

  /// Called when an agent is lost: it may have been one of this machine.
  void require() { required_ = true; }
  /// Called when no agent is left. Starts the sweep if it is required. Returns true when it is
  /// over, or was not required.
  bool run();

 private:
  Dependencies parts_;
  bool required_ = false;
  bool over_ = false;
  std::optional<Sweep> sweep_;
};

}  // namespace dt
