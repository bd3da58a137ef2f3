#pragma once

#include "base/clock.h"
#include "tests/sim/random.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace dt {

/// Events in virtual time. A channel is an ordered connection, of which messages take a while.
class VirtualEvents {
 public:
  explicit VirtualEvents(uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  void after(Duration delay, std::function<void()> event) {
    events_.emplace(std::pair(now_ + delay, next_event_++), std::move(event));
  }
  /// Delivers in the order of sending.
  void send(const std::string& channel, std::function<void()> event) {
    Time& last = arrivals_[channel];
    last = std::max(last, now_ + random_.up_to(milliseconds(4)));
    events_.emplace(std::pair(last, next_event_++), std::move(event));
  }
  void run() {
    while (!events_.empty()) {
      const auto first = events_.begin();
      now_ = first->first.first;
      const std::function<void()> event = std::move(first->second);
      events_.erase(first);
      event();
    }
  }

 private:
  Random random_;
  Time now_ = Time() + seconds(1000);
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
  uint64_t next_event_ = 0;
  std::map<std::string, Time> arrivals_;  ///< of the last message, by channel
};

}  // namespace dt
