#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/transport/peer_endpoint.h"
#include "rendezvous/store/client.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dt {

/// Publishes a task's endpoint at the rendezvous, and collects those of all ranked tasks. A rank
/// sends two requests, however many ranks there are: one reply has the whole list. The requests
/// leave, and their replies arrive, when the caller pumps the client.
class EndpointExchange {
 public:
  /// `world_size` is the number of tasks that publish.
  EndpointExchange(RendezvousClient& client, int world_size)
      : client_(client), world_size_(static_cast<uint32_t>(world_size)) {}
  EndpointExchange(const EndpointExchange&) = delete;
  EndpointExchange& operator=(const EndpointExchange&) = delete;
  ~EndpointExchange();

  Result<> publish(const PeerEndpoint& endpoint);
  /// True when the rendezvous has confirmed it.
  bool published() const { return published_; }
  /// Asks for the list, unless a reply is still to come. It comes when all have published, or in
  /// time before `left` has passed, with those that have.
  Result<> ask(Duration left);

  /// The encoded endpoints by their keys.
  using Endpoints = std::map<std::string, Bytes>;
  /// Returns each list that has arrived, once.
  Result<std::optional<Endpoints>> take();

 private:
  RendezvousClient& client_;
  uint32_t world_size_;
  bool published_ = false;
  std::optional<uint32_t> publishing_;  ///< requests without a reply so far
  std::optional<uint32_t> collecting_;
};

}  // namespace dt
