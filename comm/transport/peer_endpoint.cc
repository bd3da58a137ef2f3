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
  TRY(reader.finish("a task's contact"));
  for (const std::string& address : tcp)
    endpoint.tcp.push_back(TRY(Address::parse(address)));
  return endpoint;
}

std::string endpoint_key(const TaskId& task) {
  return format("{}{}/{}", endpoint_key_prefix, task.role, task.index);
}

}  // namespace dt
