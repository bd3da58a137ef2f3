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

/// The launcher's ends of the relays, one an agent: what an agent's tasks say goes into the
/// rendezvous.
class RelayEndpoints {
 public:
  /// Sends a relay_… message to an agent.
  using Say =
      std::function<void(size_t agent, MessageType type, uint32_t stream, ByteSpan payload)>;
  /// `rendezvous` outlives this.
  RelayEndpoints(Loop& loop, RendezvousServer& rendezvous, const Plan& plan, const Say& say);
  RelayEndpoints(const RelayEndpoints&) = delete;
  RelayEndpoints& operator=(const RelayEndpoints&) = delete;

  /// A relay_… message of this agent. An error is its fault.
  Result<> receive(size_t agent, const FrameView& message);
  /// The agent is lost, and with it all that it carried.
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
