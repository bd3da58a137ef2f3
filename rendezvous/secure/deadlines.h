#pragma once

#include "base/clock.h"
#include "base/io/loop.h"

#include <cstdint>
#include <functional>
#include <map>

namespace dt {

/// A deadline for each of many connections, all of one length. While they are suspended, none
/// passes. Afterwards each has the whole time again.
class Deadlines {
 public:
  /// `passed` is called from the Loop with the id of the connection whose deadline has passed.
  Deadlines(Loop& loop, Duration length, std::function<void(uint64_t id)> passed);
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  /// Starts this connection's time, or restarts it.
  void start(uint64_t id);
  void end(uint64_t id) { timers_.erase(id); }
  void suspend();
  void restart();

 private:
  Timer timer_of(uint64_t id);

  Loop& loop_;
  Duration length_;
  std::function<void(uint64_t id)> passed_;
  std::map<uint64_t, Timer> timers_;  ///< not running while suspended
  bool suspended_ = false;
};

}  // namespace dt
