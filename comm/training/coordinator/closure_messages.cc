#include "comm/training/coordinator/closure_messages.h"

#include "base/format.h"
#include "base/text.h"

#include <cstdint>
#include <string_view>

namespace dt {

namespace {

enum class Kind : uint8_t { run = 1, end = 2 };

}  // namespace

Result<> check_closure_name(std::string_view name) {
  if (!name.empty() && name.size() <= closure_name_bytes_max) return {};
  return fail(Errc::input, format("the name of a closure has 1 to {} bytes, not {}: \"{}\"",
                                  closure_name_bytes_max, name.size(), printable(name)));
}

Bytes encode(const ClosureMessage& message) {
  Writer writer;
  if (const auto* const run = std::get_if<RunClosure>(&message)) {
    writer.number(Kind::run).text(run->name).blob(run->argument);
  } else {
    writer.number(Kind::end);
  }
  return writer.take();
}

Bytes encode(const ClosureOutcome& outcome) {
  Writer writer;
  writer.number(outcome.error.has_value());
  if (outcome.error) {
    writer.number(static_cast<uint8_t>(outcome.error->code)).text(outcome.error->message);
  } else {
    writer.blob(outcome.result);
  }
  return writer.take();
}

Result<ClosureMessage> decode_closure_message(ByteSpan bytes) {
  Reader reader(bytes);
  const auto kind = reader.number<uint8_t>();
  ClosureMessage message = EndClosures();
  if (kind == static_cast<uint8_t>(Kind::run)) {
    RunClosure run{.name = reader.text()};
    run.argument = reader.blob();
    message = std::move(run);
  } else if (kind != static_cast<uint8_t>(Kind::end)) {
    reader.refuse();
  }
  TRY(reader.finish("a coordinator's message"));
  return message;
}

Result<ClosureOutcome> decode_closure_outcome(ByteSpan bytes) {
  Reader reader(bytes);
  ClosureOutcome outcome;
  if (reader.number<bool>()) {
    const auto code = reader.number<uint8_t>();
    const bool known = code <= static_cast<uint8_t>(Errc::out_of_memory);
    if (!known) reader.refuse();
    outcome.error = Error{known ? static_cast<Errc>(code) : Errc::protocol, reader.text()};
  } else {
    outcome.result = reader.blob();
  }
  TRY(reader.finish("the outcome of a closure"));
  return outcome;
}

}  // namespace dt
