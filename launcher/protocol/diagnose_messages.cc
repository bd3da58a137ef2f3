#include "launcher/protocol/diagnose_messages.h"

#include "base/wall_time.h"
#include "launcher/protocol/message_fields.h"

#include <algorithm>

namespace dt {

Bytes encode(const DiagnoseRequest& message) {
  Writer writer;
  writer.text(message.token).number(message.number).text(message.path).texts(message.networks);
  put(writer, message.port_range);
  writer.text(message.cwd);
  put(writer, message.forwarded);
  writer.text(message.command).texts(message.files).texts(message.imports);
  writer.number(int64_t{message.import_patience.count()});
  writer.number(int64_t{message.heartbeat.count()}).number(int64_t{message.dead_after.count()});
  return writer.take();
}

template <>
Result<DiagnoseRequest> decode(ByteSpan payload) {
  Reader reader(payload);
  DiagnoseRequest message;
  message.token = reader.text();
  message.number = reader.number<uint32_t>();
  message.path = reader.text();
  message.networks = reader.texts();
  message.port_range = get_port_range(reader);
  message.cwd = reader.text();
  message.forwarded = get_environment(reader);
  message.command = reader.text();
  message.files = reader.texts();
  message.imports = reader.texts();
  message.import_patience = Duration(reader.number<int64_t>());
  message.heartbeat = Duration(reader.number<int64_t>());
  message.dead_after = Duration(reader.number<int64_t>());
  TRY(reader.finish("diagnose"));
  return message;
}

Bytes encode(const DiagnoseReply& message) {
  Writer writer;
  writer.text(facts_json(message.facts).text());
  writer.number(message.received_ns).number(message.sent_ns).text(message.listen_failure);
  put(writer, message.probe_addresses);
  put(writer, message.bandwidth_addresses);
  return writer.take();
}

template <>
Result<DiagnoseReply> decode(ByteSpan payload) {
  Reader reader(payload);
  DiagnoseReply message;
  const std::string facts = reader.text();
  message.received_ns = reader.number<int64_t>();
  message.sent_ns = reader.number<int64_t>();
  message.listen_failure = reader.text();
  message.probe_addresses = get_addresses(reader);
  message.bandwidth_addresses = get_addresses(reader);
  TRY(reader.finish("diagnosed"));
  if (message.received_ns < 0 || message.sent_ns < 0) {
    return fail(Errc::protocol, "diagnosed: a clock that shows a time before 1970");
  }
  const Json json = TRY(Json::parse(facts));
  message.facts = TRY(read_facts(json));
  return message;
}

Bytes encode(const Measure& message) {
  Writer writer;
  writer.number(message.number);
  put(writer, message.address);
  writer.number(int64_t{message.patience.count()});
  return writer.take();
}

template <>
Result<Measure> decode(ByteSpan payload) {
  Reader reader(payload);
  Measure message;
  message.number = reader.number<uint32_t>();
  message.address = get_address(reader);
  message.patience = Duration(reader.number<int64_t>());
  TRY(reader.finish("measure"));
  return message;
}

Bytes encode(const Measured& message) {
  Writer writer;
  writer.number(int64_t{message.speed.round_trip.count()}).number(message.speed.bytes);
  writer.number(int64_t{message.speed.elapsed.count()}).text(message.failure);
  return writer.take();
}

template <>
Result<Measured> decode(ByteSpan payload) {
  Reader reader(payload);
  Measured message;
  message.speed.round_trip = Duration(reader.number<int64_t>());
  message.speed.bytes = reader.number<uint64_t>();
  message.speed.elapsed = Duration(reader.number<int64_t>());
  message.failure = reader.text();
  TRY(reader.finish("measured"));
  return message;
}

int64_t wall_clock_ns() {
  return duration_cast<Duration>(WallClock::now().time_since_epoch()).count();
}

ClockSkew clock_skew(int64_t asked_ns, const DiagnoseReply& answer, int64_t answered_ns) {
  // The time between the agent's two readings is subtracted: examining a host takes seconds. Each
  // difference is halved before the addition, which might overflow: a clock may be wrong by any
  // number of years.
  const int64_t there = (answer.received_ns - asked_ns) / 2;
  const int64_t back = (answer.sent_ns - answered_ns) / 2;
  const int64_t error = (answered_ns - asked_ns) / 2 - (answer.sent_ns - answer.received_ns) / 2;
  return {.ahead = Duration(there + back), .error = Duration(std::max<int64_t>(0, error))};
}

}  // namespace dt
