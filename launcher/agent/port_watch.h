#pragma once

#include "base/bytes.h"
#include "base/io/loop.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Agent: another user listens on a port that is held for tasks.
struct PortTaken {
  uint16_t port = 0;
  uint32_t uid = 0;
  std::string process;  ///< "python3 (pid 77)"; empty: the agent may not see it
  /// "uid 65534 listens on port 5000, …", without the host.
  std::string text() const;
  bool operator==(const PortTaken&) const = default;
};

Bytes encode(const PortTaken& message);
template <>
Result<PortTaken> decode(ByteSpan payload);

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
