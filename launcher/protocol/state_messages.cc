#include "launcher/protocol/state_messages.h"

namespace dt {

namespace {

constexpr size_t task_bytes_min = sizeof(uint32_t) + sizeof(int32_t) + sizeof(int64_t);

}  // namespace

Bytes encode(const StatesWanted& message) {
  Writer writer;
  writer.number(static_cast<uint32_t>(message.tasks.size()));
  for (const StatesWanted::Member& member : message.tasks) {
    encode(writer, member.task);
    writer.number(member.pid);
  }
  return writer.take();
}

template <>
Result<StatesWanted> decode(ByteSpan payload) {
  Reader reader(payload);
  StatesWanted message;
  message.tasks.resize(reader.count(task_bytes_min));
  for (StatesWanted::Member& member : message.tasks) {
    member.task = decode_task_id(reader);
    member.pid = reader.number<int64_t>();
  }
  TRY(reader.finish("states_wanted"));
  return message;
}

Bytes encode(const States& message) {
  Writer writer;
  writer.number(static_cast<uint32_t>(message.tasks.size()));
  for (const States::OfTask& task : message.tasks) {
    encode(writer, task.task);
    writer.number(task.state.pid).number(static_cast<uint8_t>(task.state.letter));
    writer.text(task.state.waits_at);
  }
  return writer.take();
}

template <>
Result<States> decode(ByteSpan payload) {
  Reader reader(payload);
  States message;
  message.tasks.resize(reader.count(task_bytes_min));
  for (States::OfTask& task : message.tasks) {
    task.task = decode_task_id(reader);
    task.state.pid = reader.number<int64_t>();
    task.state.letter = static_cast<char>(reader.number<uint8_t>());
    task.state.waits_at = reader.text();
  }
  TRY(reader.finish("states"));
  return message;
}

}  // namespace dt
