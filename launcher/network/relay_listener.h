#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "launcher/network/relay.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace dt {

/// The agent's end of a relay: listens on the loopback of its host, where its tasks find what they
/// take for the rendezvous, and numbers their connections.
class RelayListener {
 public:
  /// `connections_max` at once. Where there are as many, the oldest that have not proved themselves
  /// are closed, and others are accepted when the launcher has forgotten those.
  static Result<std::unique_ptr<RelayListener>> open(Loop& loop, const Relay::Say& say,
                                                     size_t connections_max);
  RelayListener(const RelayListener&) = delete;
  RelayListener& operator=(const RelayListener&) = delete;

  const Address& address() const { return address_; }
  /// A relay_… message of the launcher.
  Result<> receive(MessageType type, uint32_t stream, ByteSpan payload) {
    TRY(relay_.receive(type, stream, payload));
    accept_if_room();
    return {};
  }

 private:
  RelayListener(Loop& loop, const Relay::Say& say, size_t connections_max)
      : loop_(loop),
        say_(say),
        connections_max_(connections_max),
        relay_(loop, [this](MessageType type, uint32_t stream, ByteSpan payload) {
          say_(type, stream, payload);
          if (type == MessageType::relay_end) accept_if_room();
        }) {}
  void accept_waiting();
  bool make_room();
  void accept_if_room();

  Loop& loop_;
  Relay::Say say_;
  size_t connections_max_;
  Relay relay_;
  Fd listener_;
  Watch watch_;
  Timer resume_;  ///< runs while the system has no descriptor for us
  Address address_;
  uint32_t next_stream_ = 1;
};

}  // namespace dt
