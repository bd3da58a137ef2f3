#include "comm/named/name_messages.h"

#include "comm/group/collective_stop.h"
#include "comm/transport/message_link.h"

namespace dt {

namespace {

void encode(std::optional<DeviceRoute> route, Writer& writer) {
  writer.number(route.has_value());
  if (route) writer.number(*route);
}

std::optional<DeviceRoute> read_route(Reader& reader) {
  if (!reader.number<bool>()) return std::nullopt;
  const auto route = reader.number<DeviceRoute>();
  if (route < DeviceRoute::failed || route > DeviceRoute::nccl) reader.refuse();
  return route;
}

/// Numbers that are far apart, so that no other list gets the sum of a name's hash and a length.
uint64_t hash_of_length(uint32_t parts) {
  return parts * uint64_t{0x9e3779b97f4a7c15};
}

}  // namespace

ListPart ListPart::of(const Operation& part) {
  if (!part.list || !part.list->request.tensors.front().name.empty()) return {};
  const auto parts = static_cast<uint32_t>(part.list->request.tensors.size());
  return {hash_of_name(part.list->request.name) + hash_of_length(parts), parts};
}

uint64_t ListPart::name() const {
  return list - hash_of_length(parts);
}

std::vector<int> NameDecision::included(int size) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank)
    if (includes(rank)) ranks.push_back(rank);
  return ranks;
}

Bytes encode_arrivals(const std::vector<NameArrival>& arrivals, size_t& from) {
  Bytes message;
  for (; from < arrivals.size(); ++from) {
    const NameArrival& a = arrivals[from];
    Writer writer;
    encode(a.descriptor, writer);
    writer.number(a.timeout.count()).number(a.remaining.count()).number(a.blocks);
    writer.number(a.part_of.list).number(a.part_of.parts);
    writer.number(a.of_unnamed).number(a.before);
    encode(a.wish, writer);
    if (message.size() + writer.view().size() > control_bytes_max) break;
    const ByteSpan view = writer.view();
    message.insert(message.end(), view.begin(), view.end());
  }
  return message;
}

Result<std::vector<NameArrival>> decode_arrivals(ByteSpan bytes) {
  std::vector<NameArrival> arrivals;
  Reader reader(bytes);
  while (reader.ok() && !reader.rest().empty()) {
    NameArrival arrival;
    arrival.descriptor = TRY(decode_descriptor(reader));
    arrival.timeout = Duration(reader.number<Duration::rep>());
    arrival.remaining = Duration(reader.number<Duration::rep>());
    arrival.blocks = reader.number<bool>();
    arrival.part_of.list = reader.number<uint64_t>();
    arrival.part_of.parts = reader.number<uint32_t>();
    if (arrival.part_of.list != 0 && arrival.part_of.parts == 0) reader.refuse();
    arrival.of_unnamed = reader.number<bool>();
    arrival.before = reader.number<uint64_t>();
    arrival.wish = read_route(reader);
    if (!reader.ok() || arrival.timeout < Duration::zero() || arrival.remaining < Duration::zero())
      return fail(Errc::protocol, "announcement of a named call is cut short");
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

namespace {

Result<> read_for_joined(Reader& reader, NameDecision& decision) {
  const auto calls = reader.number<uint32_t>();
  if (calls > names_for_joined_max) return fail(Errc::protocol, "decision about too many calls");
  for (uint32_t i = 0; i < calls; ++i) {
    Descriptor call = TRY(decode_descriptor(reader));
    if (!reduces(call.kind)) return fail(Errc::protocol, "a rank that has joined cannot make it");
    decision.for_joined.push_back(std::move(call));
  }
  decision.average_over = reader.number<int32_t>();
  decision.last_joined = reader.number<int32_t>();
  if (decision.average_over < 0 || decision.last_joined < -1) reader.refuse();
  const auto ranks = reader.number<uint32_t>();
  const ByteSpan bits = reader.raw((size_t{ranks} + 7) / 8);
  for (size_t rank = 0; rank < ranks && reader.ok(); ++rank)
    decision.participants.push_back(((bits[rank / 8] >> (rank % 8)) & std::byte{1}) !=
                                    std::byte{0});
  return {};
}

}  // namespace

Bytes encode(const NameDecision& decision) {
  Writer writer;
  writer.number(static_cast<uint32_t>(decision.names.size()));
  for (const uint64_t name : decision.names)
    writer.number(name);
  writer.number(decision.failure.has_value());
  if (decision.failure) {
    writer.number(decision.failure->code)
        .number(int32_t{decision.failure->blamed_rank})
        .text(decision.failure->reason);
  }
  writer.number(static_cast<uint32_t>(decision.for_joined.size()));
  for (const Descriptor& call : decision.for_joined)
    encode(call, writer);
  writer.number(int32_t{decision.average_over}).number(int32_t{decision.last_joined});
  const std::vector<bool>& ranks = decision.participants;
  Bytes bits((ranks.size() + 7) / 8);
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank]) bits[rank / 8] |= std::byte{1} << (rank % 8);
  writer.number(static_cast<uint32_t>(ranks.size())).raw(bits);
  encode(decision.route, writer);
  return writer.take();
}

Result<NameDecision> decode_name_decision(ByteSpan bytes) {
  Reader reader(bytes);
  NameDecision decision;
  const auto names = reader.number<uint32_t>();
  if (names == 0 || names > names_per_decision_max)
    return fail(Errc::protocol, "decision about too many names");
  for (uint32_t i = 0; i < names; ++i)
    decision.names.push_back(reader.number<uint64_t>());
  if (reader.number<bool>()) {
    OperationFailure& failure = decision.failure.emplace();
    failure.code = reader.number<Errc>();
    failure.blamed_rank = reader.number<int32_t>();
    failure.reason = reader.text();
    if (failure.code != Errc::mismatch && failure.code != Errc::timeout) reader.refuse();
  }
  TRY(read_for_joined(reader, decision));
  decision.route = read_route(reader);
  TRY(reader.finish("decision about named calls"));
  return decision;
}

}  // namespace dt
