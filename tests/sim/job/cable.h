#pragma once

#include "base/io/stream.h"
#include "tests/sim/job/virtual_loop.h"
#include "tests/sim/random.h"

#include <deque>
#include <functional>
#include <memory>

namespace dt {

/// What the launcher's machine sends and receives in a second, over all connections together.
class Uplink {
 public:
  explicit Uplink(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}
  /// When bytes that are offered now have passed.
  Time pass(Time now, size_t bytes) {
    const auto takes =
        std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second_);
    free_at_ = std::max(free_at_, now) + duration_cast<Duration>(takes);
    return free_at_;
  }

 private:
  double bytes_per_second_;
  Time free_at_ = {};
};

/// Where things happen that are not the launcher's, and by what chance.
struct Site {
  VirtualLoop& loop;
  Random& random;
  Uplink down;  ///< from the launcher
  Uplink up;    ///< to it
};

/// A connection between the launcher, which has one end of a pair of sockets, and somebody far
/// away. What either end writes arrives later, whole and in order, as on TCP; while the cable is
/// held nothing passes, and nobody is told.
class Cable {
 public:
  /// Of the far end. May not destroy the cable.
  struct Handlers {
    std::function<void(ByteSpan bytes)> on_bytes;
    std::function<void()> on_end;
  };
  struct Nature {
    Duration latency = microseconds(200);
    Duration jitter = {};
  };
  Cable(Site& site, Nature nature, Handlers handlers);
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  Fd take_near_end() { return std::move(near_); }
  /// From the far end to the launcher.
  void send(ByteSpan bytes);
  /// The far end hangs up: the launcher reads the end once all has arrived.
  void hang_up();
  /// Its machine says that there is nobody any more: what was under way is lost.
  void reset();
  void hold() { held_ = true; }
  void release();
  bool held() const { return held_; }
  bool ended() const { return !far_ || hung_up_; }
  void slow_down(Duration latency) { nature_.latency = latency; }
  /// When the last that was sent will have arrived.
  Time last_arrival() const { return up_.last; }

 private:
  struct Segment {
    Time arrives;
    Bytes bytes;  ///< none: the end
  };
  struct Lane {
    std::deque<Segment> segments;
    Time last = {};
    Timer timer;
  };
  void put(Lane& lane, Uplink& uplink, ByteSpan bytes);
  void arm(Lane& lane);
  void deliver(Lane& lane);
  void arrive(Lane& lane, const Bytes& bytes);

  Site& site_;
  Nature nature_;
  Handlers handlers_;
  Fd near_;
  std::unique_ptr<Stream> far_;
  Lane down_;
  Lane up_;
  bool held_ = false;
  bool hung_up_ = false;
};

}  // namespace dt
