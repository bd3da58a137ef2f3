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

/// The agent's end of a relay, which numbers the connections of the agent's tasks. It listens on
/// the loopback of its host, at the address that these tasks get as that of the rendezvous.
class RelayListener {
 public:
  /// At the limit it closes the oldest connections that have not proved the token. It accepts
  /// others after the launcher's relay_end for those. Streams get numbers from `first_stream` on,
  /// and later again from 1 on, without those in use.
  static Result<std::unique_ptr<RelayListener>> open(Loop& loop, const Relay::Send& send,
                                                     size_t connections_max,
                                                     uint32_t first_stream = 1);
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
  RelayListener(Loop& loop, const Relay::Send& send, size_t connections_max, uint32_t first_stream)
      : loop_(loop),
        send_(send),
        connections_max_(connections_max),
        next_stream_(first_stream),
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
  uint32_t next_stream_;
  Relay relay_;
  Fd listener_;
  Watch watch_;
  Timer resume_;  ///< runs while this process is out of descriptors
  Address address_;
};

}  // namespace dt
