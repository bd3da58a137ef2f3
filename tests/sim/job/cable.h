#pragma once

#include "base/io/stream.h"
#include "tests/sim/job/virtual_loop.h"
#include "tests/sim/random.h"

#include <deque>
#include <functional>
#include <memory>

namespace dt {

/// The bandwidth of the launcher's machine in one direction, which all connections share.
class Uplink {
 public:
  explicit Uplink(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}
  /// Queues bytes at `now`. Returns when all of them have passed.
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

/// All that lies outside the launcher, and its random numbers.
struct Site {
  VirtualLoop& loop;
  Random& random;
  Uplink down;  ///< from the launcher
  Uplink up;    ///< to it
};

/// A connection between the launcher, which has one end of a pair of sockets, and a process on
/// another host. All bytes arrive later, whole and in order, as on TCP. While the cable is held no
/// bytes pass, and neither end gets an error.
class Cable {
 public:
  /// Called for the far end; they must not destroy the cable.
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
  /// Sends bytes from the far end to the launcher.
  void send(ByteSpan bytes);
  /// Closes the far end: the launcher reads the end of the stream after all bytes.
  void hang_up();
  /// Resets the connection, as the far machine does after the end of the process: bytes on their
  /// way are lost.
  void reset();
  void hold() { held_ = true; }
  void release();
  bool held() const { return held_; }
  bool ended() const { return !far_ || hung_up_; }
  /// The launcher has closed its end. The far end may not have noticed that yet.
  bool near_closed() const { return near_closed_; }
  void slow_down(Duration latency) { nature_.latency = latency; }
  /// When the last bytes for the launcher will have arrived.
  Time last_arrival() const { return up_.last; }

 private:
  struct Segment {
    Time arrives;
    Bytes bytes;  ///< empty: the end of the stream
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
  bool near_closed_ = false;
  bool hung_up_ = false;
};

}  // namespace dt
