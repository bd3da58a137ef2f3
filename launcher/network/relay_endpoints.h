#pragma once

#include "base/io/frame.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/network/relay.h"
#include "launcher/plan/plan.h"
#include "rendezvous/store/server.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// The launcher's ends of the relays, one for each agent: they connect the agents' tasks to the
/// rendezvous.
class RelayEndpoints {
 public:
  /// Sends a relay_… message to an agent.
  using Send =
      std::function<void(size_t agent, MessageType type, uint32_t stream, ByteSpan payload)>;
  /// `rendezvous` outlives this.
  RelayEndpoints(Loop& loop, RendezvousServer& rendezvous, const Plan& plan, const Send& send);
  RelayEndpoints(const RelayEndpoints&) = delete;
  RelayEndpoints& operator=(const RelayEndpoints&) = delete;

  /// Handles a relay_… message of this agent. Fails with Errc::protocol when the agent breaks the
  /// protocol.
  Result<> receive(size_t agent, const FrameView& message);
  /// Closes all connections of an agent that is lost.
  void drop(size_t agent);

 private:
  struct End {
    std::string host;
    size_t connections_max = 0;
    std::unique_ptr<Relay> relay;
  };
  Result<> open(End& end, uint32_t stream);

  RendezvousServer& rendezvous_;
  std::vector<End> ends_;
};

}  // namespace dt
