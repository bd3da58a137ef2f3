#include "rendezvous/store/wire.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {

namespace {

// Checks an enumerator that a peer has sent; `last` is the greatest valid one.
template <class Enum>
Result<Enum> checked(Enum value, Enum last, std::string_view what) {
  const auto number = static_cast<unsigned>(value);
  if (number <= static_cast<unsigned>(last)) return value;
  return fail(Errc::protocol, format("{} {} is unknown", what, number));
}

void put(Writer& writer, const std::optional<Bytes>& value) {
  writer.number(value.has_value());
  if (value) writer.blob(*value);
}

std::optional<Bytes> take_optional(Reader& reader) {
  // Read as a number: a bool other than 0 and 1 would be undefined behaviour.
  if (reader.number<uint8_t>() == 0) return std::nullopt;
  return reader.blob();
}

void put(Writer& writer, Duration timeout) {
  writer.number(int64_t{timeout.count()});
}

Duration take_timeout(Reader& reader) {
  return std::clamp(Duration(reader.number<int64_t>()), Duration::zero(), timeout_max);
}

// One pair of functions a request, with the same fields in the same order.

void put(Writer& writer, const SetRequest& request) {
  writer.text(request.key).blob(request.value).number(request.lifetime);
}
Result<Request> take_set(Reader& reader) {
  SetRequest request{reader.text(), reader.blob(), {}};
  request.lifetime = TRY(checked(reader.number<Lifetime>(), Lifetime::connection, "lifetime"));
  return request;
}

void put(Writer& writer, const GetRequest& request) {
  writer.text(request.key);
}
Result<Request> take_get(Reader& reader) {
  return GetRequest{reader.text()};
}

void put(Writer& writer, const WaitRequest& request) {
  writer.text(request.key);
  put(writer, request.timeout);
}
Result<Request> take_wait(Reader& reader) {
  return WaitRequest{reader.text(), take_timeout(reader)};
}

void put(Writer& writer, const AddRequest& request) {
  writer.text(request.key).number(request.amount);
}
Result<Request> take_add(Reader& reader) {
  return AddRequest{reader.text(), reader.number<int64_t>()};
}

void put(Writer& writer, const CompareAndSetRequest& request) {
  writer.text(request.key);
  put(writer, request.expected);
  writer.blob(request.value);
}
Result<Request> take_compare_and_set(Reader& reader) {
  return CompareAndSetRequest{reader.text(), take_optional(reader), reader.blob()};
}

void put(Writer& writer, const EraseRequest& request) {
  writer.text(request.key);
}
Result<Request> take_erase(Reader& reader) {
  return EraseRequest{reader.text()};
}

void put(Writer& writer, const CollectRequest& request) {
  writer.text(request.prefix).number(request.count);
  put(writer, request.timeout);
}
Result<Request> take_collect(Reader& reader) {
  return CollectRequest{reader.text(), reader.number<uint32_t>(), take_timeout(reader)};
}

void put(Writer& writer, const WaitReport& report) {
  writer.number(static_cast<uint32_t>(report.waits.size()));
  for (const RankWait& wait : report.waits) {
    writer.text(wait.operation).number(wait.group);
    put(writer, wait.waited);
    writer.number(static_cast<uint32_t>(wait.awaited.size()));
    for (const int32_t rank : wait.awaited)
      writer.number(rank);
    writer.text(wait.last_before);
  }
}
Result<Request> take_wait_report(Reader& reader) {
  constexpr size_t wait_bytes_min = 4 * sizeof(uint32_t) + sizeof(int64_t);
  WaitReport report;
  report.waits.resize(reader.count(wait_bytes_min));
  if (report.waits.size() > reported_waits_max)
    return fail(Errc::protocol, format("a report of {} waits", report.waits.size()));
  for (RankWait& wait : report.waits) {
    wait.operation = reader.text();
    wait.group = reader.number<uint32_t>();
    wait.waited = take_timeout(reader);
    wait.awaited.resize(reader.count(sizeof(int32_t)));
    for (int32_t& rank : wait.awaited)
      rank = reader.number<int32_t>();
    wait.last_before = reader.text();
    if (std::max(wait.operation.size(), wait.last_before.size()) > key_bytes_max)
      return fail(Errc::protocol, "a report of a wait with a long text");
  }
  return report;
}

using TakeRequest = Result<Request> (*)(Reader&);
// By the request's index in the variant, which is its number on the wire.
constexpr std::array<TakeRequest, std::variant_size_v<Request>> request_decoders = {
    take_set,   take_get,     take_wait,       take_add, take_compare_and_set,
    take_erase, take_collect, take_wait_report};

Result<Notice> checked_notice(Reader& reader) {
  Notice notice = decode_notice(reader);
  TRY(checked(notice.kind, Notice::Kind::restarted, "notice"));
  return notice;
}

}  // namespace

std::string shown_key(std::string_view key) {
  if (key.starts_with(program_key_prefix)) key.remove_prefix(program_key_prefix.size());
  return printable(key);
}

Result<> check_key(std::string_view key) {
  if (key.empty()) return fail(Errc::input, "a key must not be empty");
  if (key.size() <= key_bytes_max) return {};
  return fail(Errc::input, format("key '{}' has {} bytes, at most {} are allowed",
                                  printable(key, 40), key.size(), key_bytes_max));
}

Result<> check_value(std::string_view key, ByteSpan value) {
  if (value.size() <= value_bytes_max) return {};
  return fail(Errc::input, format("the value of '{}' has {} bytes, at most {} are allowed",
                                  shown_key(key), value.size(), value_bytes_max));
}

Bytes encode(const Request& request) {
  Writer writer;
  writer.number(static_cast<uint8_t>(request.index()));
  std::visit([&](const auto& which) { put(writer, which); }, request);
  return writer.take();
}

Result<Request> decode_request(ByteSpan bytes) {
  Reader reader(bytes);
  const auto kind = reader.number<uint8_t>();
  if (kind >= request_decoders.size()) {
    return fail(Errc::protocol, format("request {} is unknown", kind));
  }
  Request request = TRY(request_decoders[kind](reader));
  TRY(reader.finish("request"));
  return request;
}

Bytes encode(const Reply& reply) {
  Writer writer;
  writer.number(static_cast<uint8_t>(reply.error ? 1 + static_cast<int>(reply.error->code) : 0));
  if (reply.error) {
    writer.text(reply.error->message);
  } else {
    put(writer, reply.value);
    writer.number(reply.number);
  }
  return writer.take();
}

Result<Reply> decode_reply(ByteSpan bytes) {
  Reader reader(bytes);
  Reply reply;
  const auto status = reader.number<uint8_t>();
  if (status == 0) {
    reply.value = take_optional(reader);
    reply.number = reader.number<int64_t>();
  } else {
    const auto code = static_cast<Errc>(status - 1);
    const Errc known = TRY(checked(code, Errc::out_of_memory, "error"));
    reply.error = Error{known, reader.text()};
  }
  TRY(reader.finish("reply"));
  return reply;
}

Bytes encode(const std::vector<StoreEntry>& entries) {
  Writer writer;
  writer.number(static_cast<uint32_t>(entries.size()));
  for (const StoreEntry& entry : entries)
    writer.text(entry.key).blob(entry.value);
  return writer.take();
}

Result<std::vector<StoreEntry>> decode_entries(ByteSpan bytes) {
  constexpr size_t entry_bytes_min = 2 * sizeof(uint32_t);
  Reader reader(bytes);
  std::vector<StoreEntry> entries(reader.count(entry_bytes_min));
  for (StoreEntry& entry : entries) {
    entry.key = reader.text();
    entry.value = reader.blob();
  }
  TRY(reader.finish("list of keys"));
  return entries;
}

Bytes encode(const Welcome& welcome) {
  Writer table;
  encode(table, welcome.table);
  return encode_welcome(welcome.self, table.view(), welcome.gone, welcome.dead_after,
                        welcome.engine);
}

Bytes encode_welcome(const TaskId& self, ByteSpan table, const std::vector<Notice>& gone,
                     Duration dead_after, const EngineSettings& engine) {
  Writer writer;
  encode(writer, self);
  writer.raw(table);
  writer.number(static_cast<uint32_t>(gone.size()));
  for (const Notice& notice : gone)
    encode(writer, notice);
  return writer.number(int64_t{dead_after.count()})
      .number(engine.encrypt_data)
      .text(engine.transport)
      .text(engine.algorithms)
      .number(int64_t{engine.stall_after.count()})
      .take();
}

Result<Welcome> decode_welcome(ByteSpan bytes) {
  constexpr size_t notice_bytes_min = 2 + 4 * sizeof(uint32_t);
  Reader reader(bytes);
  Welcome welcome{.self = decode_task_id(reader), .table = decode_task_table(reader), .gone = {}};
  const uint32_t gone = reader.count(notice_bytes_min);
  for (uint32_t i = 0; i < gone; ++i) {
    Notice notice = TRY(checked_notice(reader));
    welcome.gone.push_back(std::move(notice));
  }
  welcome.dead_after = Duration(reader.number<int64_t>());
  // Read as a number: a bool other than 0 and 1 would be undefined behaviour.
  welcome.engine.encrypt_data = reader.number<uint8_t>() != 0;
  welcome.engine.transport = reader.text();
  welcome.engine.algorithms = reader.text();
  welcome.engine.stall_after = take_timeout(reader);
  TRY(reader.finish("welcome"));
  if (welcome.dead_after <= Duration::zero() || welcome.dead_after > timeout_max)
    return fail(Errc::protocol, "a welcome with an impossible dead-after time");
  return welcome;
}

Bytes encode(const Notice& notice) {
  Writer writer;
  encode(writer, notice);
  return writer.take();
}

Result<Notice> decode_notice(ByteSpan bytes) {
  Reader reader(bytes);
  Notice notice = TRY(checked_notice(reader));
  TRY(reader.finish("notice"));
  return notice;
}

Result<std::vector<Notice>> decode_notices(ByteSpan bytes) {
  Reader reader(bytes);
  std::vector<Notice> notices;
  do {
    Notice notice = TRY(checked_notice(reader));
    notices.push_back(std::move(notice));
  } while (reader.ok() && !reader.rest().empty());
  TRY(reader.finish("notice"));
  return notices;
}

}  // namespace dt
