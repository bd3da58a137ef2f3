#include "launcher/sync/messages.h"

#include "base/format.h"
#include "base/io/frame.h"
#include "base/text.h"
#include "launcher/protocol/message_fields.h"

namespace dt {

Bytes encode(const PlaceOrder& message) {
  return Writer()
      .text(message.job)
      .number(message.target.has_value())
      .text(message.target.value_or(""))
      .number(message.into)
      .text(message.original)
      .text(message.source)
      .text(message.source_marker)
      .text(message.marker)
      .take();
}

template <>
Result<PlaceOrder> decode(ByteSpan payload) {
  Reader reader(payload);
  PlaceOrder message;
  message.job = reader.text();
  const bool has_target = reader.number<bool>();
  std::string target = reader.text();
  if (has_target) message.target = std::move(target);
  message.into = reader.number<bool>();
  message.original = reader.text();
  message.source = reader.text();
  message.source_marker = reader.text();
  message.marker = reader.text();
  TRY(reader.finish("place"));
  return message;
}

Bytes encode(const Seen& message) {
  return Writer().texts(message.tree).texts(message.store).take();
}

template <>
Result<Seen> decode(ByteSpan payload) {
  Reader reader(payload);
  Seen message;
  message.tree = reader.texts();
  message.store = reader.texts();
  TRY(reader.finish("seen"));
  return message;
}

Bytes encode(const Lacking& message) {
  Writer writer;
  writer.number(static_cast<uint32_t>(message.entries.size()));
  for (const uint32_t entry : message.entries)
    writer.number(entry);
  return writer.number(message.more).take();
}

template <>
Result<Lacking> decode(ByteSpan payload) {
  Reader reader(payload);
  Lacking message;
  message.entries.resize(reader.count(sizeof(uint32_t)));
  for (uint32_t& entry : message.entries)
    entry = reader.number<uint32_t>();
  message.more = reader.number<bool>();
  TRY(reader.finish("lacking"));
  return message;
}

Bytes encode(const ObjectStart& message) {
  return Writer().number(message.entry).take();
}

template <>
Result<ObjectStart> decode(ByteSpan payload) {
  Reader reader(payload);
  const ObjectStart message = {.entry = reader.number<uint32_t>()};
  TRY(reader.finish("object"));
  return message;
}

Bytes encode(const Built& message) {
  return Writer().text(message.folder).take();
}

template <>
Result<Built> decode(ByteSpan payload) {
  Reader reader(payload);
  Built message = {.folder = reader.text()};
  TRY(reader.finish("built"));
  return message;
}

Bytes encode(const SyncFailure& message) {
  return Writer().text(message.why).take();
}

template <>
Result<SyncFailure> decode(ByteSpan payload) {
  Reader reader(payload);
  SyncFailure message = {.why = reader.text()};
  TRY(reader.finish("failed"));
  return message;
}

Bytes encode(const SetUpOrder& message) {
  Writer writer;
  writer.texts(message.commands);
  put(writer, message.forwarded);
  return writer.texts(message.excluded)
      .text(message.below)
      .text(message.source)
      .number(int64_t{message.timeout.count()})
      .number(message.once)
      .number(message.runs)
      .take();
}

template <>
Result<SetUpOrder> decode(ByteSpan payload) {
  Reader reader(payload);
  SetUpOrder message;
  message.commands = reader.texts();
  message.forwarded = get_environment(reader);
  message.excluded = reader.texts();
  message.below = reader.text();
  message.source = reader.text();
  message.timeout = Duration(reader.number<int64_t>());
  message.once = reader.number<bool>();
  message.runs = reader.number<bool>();
  TRY(reader.finish("set_up"));
  return message;
}

Bytes encode(const IsSetUp& message) {
  return Writer().text(message.folder).number(message.has_bin).take();
}

template <>
Result<IsSetUp> decode(ByteSpan payload) {
  Reader reader(payload);
  IsSetUp message;
  message.folder = reader.text();
  message.has_bin = reader.number<bool>();
  TRY(reader.finish("is_set_up"));
  return message;
}

Bytes encode(const FetchPatterns& message) {
  return Writer().texts(message.patterns).take();
}

template <>
Result<FetchPatterns> decode(ByteSpan payload) {
  Reader reader(payload);
  FetchPatterns message = {.patterns = reader.texts()};
  TRY(reader.finish("fetch"));
  return message;
}

void SomeEntries::add(std::string_view path, std::string_view why) {
  constexpr size_t path_bytes_max = 4096;
  ++count;
  if (shown.size() < shown_max)
    shown.push_back(format("{} ({})", printable(path, path_bytes_max), why));
}

namespace {

void put(Writer& writer, const SomeEntries& entries) {
  writer.number(entries.count).texts(entries.shown);
}

SomeEntries get_entries(Reader& reader) {
  SomeEntries entries;
  entries.count = reader.number<uint64_t>();
  entries.shown = reader.texts();
  return entries;
}

}  // namespace

Bytes encode(const Fetched& message) {
  Writer writer;
  writer.texts(message.unmatched);
  put(writer, message.unreadable);
  put(writer, message.left_out);
  return writer.take();
}

template <>
Result<Fetched> decode(ByteSpan payload) {
  Reader reader(payload);
  Fetched message;
  message.unmatched = reader.texts();
  message.unreadable = get_entries(reader);
  message.left_out = get_entries(reader);
  TRY(reader.finish("fetched"));
  return message;
}

void append_sync_message(Bytes& out, SyncMessage type, ByteSpan payload) {
  append_frame(out, {.type = static_cast<uint8_t>(type)}, payload);
}

}  // namespace dt
