#include "comm/transport/peer_endpoint.h"

#include "base/format.h"

#include <algorithm>
#include <array>

namespace dt {

namespace {

constexpr std::array<std::string_view, 3> transport_names = {"auto", "shm", "tcp"};

}  // namespace

std::string_view transport_name(Transport transport) {
  return transport_names.at(static_cast<size_t>(transport));
}

std::optional<Transport> transport_named(std::string_view name) {
  if (name.empty()) return Transport::automatic;
  const auto* const found = std::ranges::find(transport_names, name);
  if (found == transport_names.end()) return std::nullopt;
  return static_cast<Transport>(found - transport_names.begin());
}

Bytes PeerEndpoint::encode() const {
  Writer writer;
  writer.number(static_cast<uint32_t>(tcp.size()));
  for (const Address& address : tcp)
    writer.text(address.text());
  return writer.text(local).number(static_cast<uint8_t>(transport)).take();
}

Result<PeerEndpoint> PeerEndpoint::decode(ByteSpan bytes) {
  Reader reader(bytes);
  const std::vector<std::string> tcp = reader.texts();
  PeerEndpoint endpoint{.tcp = {}, .local = reader.text()};
  const auto transport = reader.number<uint8_t>();
  TRY(reader.finish("a task's endpoint"));
  if (transport >= transport_names.size())
    return fail(Errc::protocol, format("an endpoint of transport {}", transport));
  endpoint.transport = static_cast<Transport>(transport);
  for (const std::string& text : tcp) {
    Address address = TRY(Address::parse(text));
    endpoint.tcp.push_back(std::move(address));
  }
  return endpoint;
}

std::string endpoint_key(const TaskId& task) {
  return format("{}{}/{}", endpoint_key_prefix, task.role, task.index);
}

}  // namespace dt
