#include "comm/transport/peer_endpoint.h"

#include "base/format.h"

namespace dt {

Bytes PeerEndpoint::encode() const {
  Writer writer;
  writer.number(static_cast<uint32_t>(tcp.size()));
  for (const Address& address : tcp)
    writer.text(address.text());
  return writer.text(local).take();
}

Result<PeerEndpoint> PeerEndpoint::decode(ByteSpan bytes) {
  Reader reader(bytes);
  const std::vector<std::string> tcp = reader.texts();
  PeerEndpoint endpoint{.tcp = {}, .local = reader.text()};
  TRY(reader.finish("a task's endpoint"));
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
