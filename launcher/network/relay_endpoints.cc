#include "launcher/network/relay_endpoints.h"

#include "base/io/fd.h"

namespace dt {

RelayEndpoints::RelayEndpoints(Loop& loop, RendezvousServer& rendezvous, const Plan& plan,
                               const Send& send)
    : rendezvous_(rendezvous) {
  for (size_t agent = 0; agent < plan.hosts.size(); ++agent) {
    const auto send_to_agent = [send, agent](MessageType type, uint32_t stream, ByteSpan payload) {
      send(agent, type, stream, payload);
    };
    ends_.push_back(
        {.host = plan.hosts[agent].host.name,
         .connections_max = relayed_max(static_cast<size_t>(plan.hosts[agent].task_count())),
         .relay = std::make_unique<Relay>(loop, send_to_agent)});
  }
}

Result<> RelayEndpoints::receive(size_t agent, const FrameView& message) {
  End& end = ends_[agent];
  if (!end.relay) return {};
  const auto type = static_cast<MessageType>(message.header.type);
  if (type == MessageType::relay_open) return open(end, message.header.stream);
  return end.relay->receive(type, message.header.stream, message.payload);
}

Result<> RelayEndpoints::open(End& end, uint32_t stream) {
  // Not a protocol error: other users of the agent's host must not be able to end the job.
  if (end.relay->size() >= end.connections_max) {
    end.relay->refuse(stream);
    return {};
  }
  auto pair = make_socketpair();
  if (!pair) {
    end.relay->refuse(stream);
    return {};
  }
  TRY(set_nonblocking(pair->ours.get()));
  TRY(set_nonblocking(pair->theirs.get()));
  TRY(end.relay->add(stream, std::move(pair->ours)));
  rendezvous_.adopt(std::move(pair->theirs), end.host + " (relayed by its agent)");
  return {};
}

void RelayEndpoints::drop(size_t agent) {
  ends_[agent].relay.reset();
}

}  // namespace dt
