#include "comm/transport/contact.h"

#include "base/format.h"

namespace dt {

Bytes Contact::encode() const {
  Writer writer;
  writer.text(tcp ? tcp->text() : "").text(local);
  return writer.take();
}

Result<Contact> Contact::decode(ByteSpan bytes) {
  Reader reader(bytes);
  const std::string tcp = reader.text();
  Contact contact{.tcp = std::nullopt, .local = reader.text()};
  TRY(reader.finish("a task's contact"));
  if (!tcp.empty()) contact.tcp = TRY(Address::parse(tcp));
  return contact;
}

std::string contact_key(const TaskId& task) {
  return format("{}{}/{}", contact_key_prefix, task.role, task.index);
}

}  // namespace dt
