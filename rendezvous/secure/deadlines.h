#pragma once

#include "base/clock.h"
#include "base/io/loop.h"

#include <cstdint>
#include <functional>
#include <map>

namespace dt {

/// One deadline for each of some connections, all as long. While they are suspended none passes;
/// afterwards each has the whole time again.
class Deadlines {
 public:
  /// `passed` is called from the Loop with the connection whose deadline it was.
  Deadlines(Loop& loop, Duration length, std::function<void(uint64_t id)> passed);
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  /// Begins this connection's time, or begins it anew.
  void start(uint64_t id);
  void end(uint64_t id) { timers_.erase(id); }
  void suspend();
  void restart();

 private:
  Timer timer_of(uint64_t id);

  Loop& loop_;
  Duration length_;
  std::function<void(uint64_t id)> passed_;
  std::map<uint64_t, Timer> timers_;  ///< that do not run while suspended
  bool suspended_ = false;
};

}  // namespace dt
