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

/// The agent's end of a relay. It listens on the loopback of its host; the agent's tasks get this
/// address as that of the rendezvous. It numbers their connections.
class RelayListener {
 public:
  /// At the limit it closes the oldest connections that have not proved the token. It accepts
  /// others after the launcher's relay_end for those.
  static Result<std::unique_ptr<RelayListener>> open(Loop& loop, const Relay::Send& send,
                                                     size_t connections_max);
  RelayListener(const RelayListener&) = delete;
  RelayListener& operator=(const RelayListener&) = delete;

  const Address& address() const { return address_; }
  /// Handles a relay_… message of the launcher. Fails with Errc::protocol.
  Result<> receive(MessageType type, uint32_t stream, ByteSpan payload) {
    TRY(relay_.receive(type, stream, payload));
    accept_if_room();
    return {};
  }

 private:
  RelayListener(Loop& loop, const Relay::Send& send, size_t connections_max)
      : loop_(loop),
        send_(send),
        connections_max_(connections_max),
        relay_(loop, [this](MessageType type, uint32_t stream, ByteSpan payload) {
          send_(type, stream, payload);
          if (type == MessageType::relay_end) accept_if_room();
        }) {}
  void accept_waiting();
  bool make_room();
  void accept_if_room();

  Loop& loop_;
  Relay::Send send_;
  size_t connections_max_;
  Relay relay_;
  Fd listener_;
  Watch watch_;
  Timer resume_;  ///< runs while this process is out of descriptors
  Address address_;
  uint32_t next_stream_ = 1;
};

}  // namespace dt
