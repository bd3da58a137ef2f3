#include "comm/training/ps/state/inputs.h"

#include <utility>

namespace dt {

namespace {

void write(PartsWriter& writer, const PsStart& start) {
  writer.number(start.bytes_max);
  writer.borrow_aligned(start.checkpoint, start.owner);
}

void write(PartsWriter& writer, const PsIncoming& asked) {
  writer.number(asked.worker).number(asked.request).number(asked.attempt);
  writer.borrow_aligned(asked.body, asked.owner);
}

void write(PartsWriter& writer, const PsFileAnswer& answer) {
  writer.number(answer.worker).number(answer.request).number(answer.error.has_value());
  if (answer.error)
    writer.number(static_cast<uint8_t>(answer.error->code)).text(answer.error->message);
  writer.number(answer.step.has_value()).number(answer.step.value_or(0));
  writer.borrow_aligned(answer.content, answer.owner);
}

void write(Writer& writer, const Notice& notice) {
  encode(writer, notice);
}

PsStart read_start(Reader& reader, ByteSpan whole) {
  PsStart start{.bytes_max = reader.number<uint64_t>()};
  start.checkpoint = decode_aligned(reader, whole);
  return start;
}

PsIncoming read_incoming(Reader& reader, const std::shared_ptr<const Bytes>& message) {
  PsIncoming asked{.worker = reader.number<uint32_t>(), .owner = message};
  asked.request = reader.number<uint32_t>();
  asked.attempt = reader.number<uint32_t>();
  asked.body = decode_aligned(reader, *message);
  return asked;
}

PsFileAnswer read_file_answer(Reader& reader, ByteSpan whole) {
  PsFileAnswer answer{.worker = reader.number<uint32_t>()};
  answer.request = reader.number<uint32_t>();
  if (reader.number<bool>()) {
    const auto code = reader.number<uint8_t>();
    const bool known = code <= static_cast<uint8_t>(Errc::out_of_memory);
    if (!known) reader.refuse();
    answer.error = Error{known ? static_cast<Errc>(code) : Errc::protocol, reader.text()};
  }
  const bool has_step = reader.number<bool>();
  const auto step = reader.number<uint64_t>();
  if (has_step) answer.step = step;
  answer.content = decode_aligned(reader, whole);
  return answer;
}

}  // namespace

MessageParts encode_parts(uint64_t number, const PsInput& input) {
  PartsWriter writer;
  writer.number(number).number(static_cast<uint8_t>(input.index()));
  std::visit([&](const auto& which) { write(writer, which); }, input);
  return writer.take_parts();
}

Result<NumberedInput> decode_ps_input(const std::shared_ptr<const Bytes>& message) {
  Reader reader(*message);
  NumberedInput numbered{.number = reader.number<uint64_t>(), .input = {}};
  switch (reader.number<uint8_t>()) {
    case 0:
      numbered.input = read_start(reader, *message);
      break;
    case 1:
      numbered.input = read_incoming(reader, message);
      break;
    case 2:
      numbered.input = read_file_answer(reader, *message);
      break;
    case 3:
      numbered.input = decode_notice(reader);
      break;
    default:
      reader.refuse();
  }
  TRY(reader.finish("an input of a parameter server"));
  return numbered;
}

Bytes encode_acknowledgement(uint64_t number) {
  Writer writer;
  writer.number(number);
  return writer.take();
}

Result<uint64_t> decode_acknowledgement(ByteSpan bytes) {
  Reader reader(bytes);
  const auto number = reader.number<uint64_t>();
  TRY(reader.finish("an acknowledgement of a replica"));
  return number;
}

}  // namespace dt
