#include "launcher/protocol/node_messages.h"

#include "launcher/protocol/message_fields.h"

namespace dt {

Bytes encode(const NodeIntro& message) {
  Writer writer;
  writer.text(message.build).text(message.hostname).number(int32_t{message.count});
  writer.text(message.processes).texts(message.command).number(int32_t{message.order});
  return writer.take();
}

template <>
Result<NodeIntro> decode(ByteSpan payload) {
  Reader reader(payload);
  NodeIntro message;
  message.build = reader.text();
  message.hostname = reader.text();
  message.count = reader.number<int32_t>();
  message.processes = reader.text();
  message.command = reader.texts();
  message.order = reader.number<int32_t>();
  TRY(reader.finish("node"));
  return message;
}

Bytes encode(const Dismissed& message) {
  return Writer().number(int32_t{message.status}).text(message.reason).take();
}

template <>
Result<Dismissed> decode(ByteSpan payload) {
  Reader reader(payload);
  Dismissed message;
  message.status = reader.number<int32_t>();
  message.reason = reader.text();
  TRY(reader.finish("dismissed"));
  return message;
}

Bytes encode(const Leaving& message) {
  return Writer().text(message.why).take();
}

template <>
Result<Leaving> decode(ByteSpan payload) {
  Reader reader(payload);
  Leaving message;
  message.why = reader.text();
  TRY(reader.finish("leaving"));
  return message;
}

}  // namespace dt
