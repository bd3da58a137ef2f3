#include "comm/transport/contact.h"

#include "base/format.h"

namespace dt {

Bytes Contact::encode() const {
  Writer writer;
  writer.number(static_cast<uint32_t>(tcp.size()));
  for (const Address& address : tcp)
    writer.text(address.text());
  return writer.text(local).take();
}

Result<Contact> Contact::decode(ByteSpan bytes) {
  Reader reader(bytes);
  const std::vector<std::string> tcp = reader.texts();
  Contact contact{.tcp = {}, .local = reader.text()};
  TRY(reader.finish("a task's contact"));
  for (const std::string& address : tcp)
    contact.tcp.push_back(TRY(Address::parse(address)));
  return contact;
}

std::string contact_key(const TaskId& task) {
  return format("{}{}/{}", contact_key_prefix, task.role, task.index);
}

}  // namespace dt
