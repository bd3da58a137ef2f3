#pragma once

#include "base/io/loop.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace dt {

/// Looks for listeners of other users on ports that are held for tasks. A held port lets in every
/// user that sets SO_REUSEADDR (base/io/socket.h), until a task listens there.
class PortWatch {
 public:
  struct Terms {
    std::vector<uint16_t> ports;
    Duration between_looks = seconds(1);
    Duration lasts = seconds(60);  ///< by then tasks listen where they want to
  };
  /// `on_taken` is called once at most, by a look of the timer.
  PortWatch(Loop& loop, Terms terms, std::function<void(const PortTaken&)> on_taken);
  PortWatch(const PortWatch&) = delete;
  PortWatch& operator=(const PortWatch&) = delete;

  /// The first port that is taken now. Our own user and root are no others, nor are the users of
  /// processes below us: a task may have changed its own. A kernel that does not answer shows none.
  std::optional<PortTaken> look() const;

 private:
  void look_again();

  Loop& loop_;
  Terms terms_;
  std::function<void(const PortTaken&)> on_taken_;
  Time end_;
  Timer timer_;
};

}  // namespace dt
