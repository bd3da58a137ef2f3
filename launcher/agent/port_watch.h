#pragma once

#include "base/io/loop.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace dt {

/// Detects listeners of other users on ports that are held for tasks. Until a task listens on a
/// held port, every user who sets SO_REUSEADDR can bind it (base/io/socket.h).
class PortWatch {
 public:
  struct Terms {
    std::vector<uint16_t> ports;
    Duration interval = seconds(1);
    Duration lasts = seconds(60);  ///< the end of the watch: by then tasks listen
  };
  /// `on_taken` is called once at most, from the Loop.
  PortWatch(Loop& loop, Terms terms, std::function<void(const PortTaken&)> on_taken);
  PortWatch(const PortWatch&) = delete;
  PortWatch& operator=(const PortWatch&) = delete;

  /// Returns the first port on which another user listens now. Our own user and root do not count.
  /// Nor do the users of our descendants, since a task may have changed its user. Returns none if
  /// the kernel does not answer.
  std::optional<PortTaken> find_taken() const;

 private:
  void check_again();

  Loop& loop_;
  Terms terms_;
  std::function<void(const PortTaken&)> on_taken_;
  Time end_;
  Timer timer_;
};

}  // namespace dt
