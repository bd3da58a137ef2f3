#include "comm/training/ps/state/messages.h"

#include "base/format.h"

#include <array>
#include <cmath>
#include <utility>

namespace dt {

namespace {

/// Reads an enum whose values are 0 … last.
template <class T>
T read_enum(Reader& reader, T last) {
  const auto value = reader.number<uint8_t>();
  if (value <= static_cast<uint8_t>(last)) return static_cast<T>(value);
  reader.refuse();
  return T{};
}

void encode(Writer& writer, const PsMode& mode) {
  writer.number(mode.number).number(mode.kind).number(mode.count);
}

PsMode decode_mode(Reader& reader) {
  PsMode mode{.number = reader.number<uint32_t>()};
  mode.kind = read_enum(reader, PsMode::Kind::bounded);
  mode.count = reader.number<uint32_t>();
  return mode;
}

void encode(Writer& writer, const PsDecision& decision) {
  writer.number(decision.round).number(static_cast<uint32_t>(decision.workers.size()));
  for (const uint32_t worker : decision.workers)
    writer.number(worker);
}

PsDecision decode_decision(Reader& reader) {
  PsDecision decision{.round = reader.number<uint64_t>()};
  decision.workers.resize(reader.count(sizeof(uint32_t)));
  for (uint32_t& worker : decision.workers)
    worker = reader.number<uint32_t>();
  return decision;
}

void encode(Writer& writer, const OptimizerSettings& settings) {
  writer.number(settings.kind).number(settings.nesterov);
  for (const double value :
       {settings.learning_rate, settings.momentum, settings.decay, settings.beta1, settings.beta2,
        settings.epsilon, settings.initial_accumulator, settings.l1, settings.l2,
        settings.learning_rate_power})
    writer.number(value);
}

OptimizerSettings decode_optimizer(Reader& reader) {
  OptimizerSettings settings{.kind = read_enum(reader, OptimizerKind::ftrl)};
  settings.nesterov = reader.number<bool>();
  for (double* value :
       {&settings.learning_rate, &settings.momentum, &settings.decay, &settings.beta1,
        &settings.beta2, &settings.epsilon, &settings.initial_accumulator, &settings.l1,
        &settings.l2, &settings.learning_rate_power})
    *value = reader.number<double>();
  return settings;
}

void encode(PartsWriter& writer, const std::vector<ShardPull>& pulls) {
  writer.number(static_cast<uint32_t>(pulls.size()));
  for (const ShardPull& pull : pulls) {
    writer.number(pull.shard).number(pull.sparse);
    writer.borrow_aligned(pull.rows);
  }
}

std::vector<ShardPull> decode_pulls(Reader& reader, ByteSpan whole) {
  constexpr size_t bytes_min = sizeof(uint32_t) + 1 + sizeof(uint64_t);
  std::vector<ShardPull> pulls(reader.count(bytes_min));
  for (ShardPull& pull : pulls) {
    pull.shard = reader.number<uint32_t>();
    pull.sparse = reader.number<bool>();
    pull.rows = decode_aligned(reader, whole);
  }
  return pulls;
}

void write(PartsWriter& writer, const DeclareRequest& request) {
  writer.number(request.first_variable).number(request.initializes);
  writer.number(static_cast<uint32_t>(request.variables.size()));
  for (const VariableSpec& variable : request.variables)
    encode(writer, variable);
  writer.number(static_cast<uint32_t>(request.shards.size()));
  for (const ShardDeclaration& declared : request.shards) {
    encode(writer, declared.shard);
    writer.borrow_aligned(declared.initial);
  }
}

void write(PartsWriter& writer, const PushRequest& request) {
  encode(writer, request.decision);
  writer.number(request.kind).number(request.round).number(request.seen_step);
  writer.number(request.learning_rate).number(request.scale);
  writer.number(static_cast<uint32_t>(request.gradients.size()));
  for (const ShardGradient& gradient : request.gradients) {
    writer.number(gradient.shard).number(gradient.sparse);
    writer.borrow_aligned(gradient.rows);
    writer.borrow_aligned(gradient.values);
  }
  encode(writer, request.pulls);
}

void write(Writer& writer, const CommitRequest& request) {
  encode(writer, request.mode);
  writer.number(request.round);
}

void write(PartsWriter& writer, const PullRequest& request) {
  encode(writer, request.decision);
  encode(writer, request.pulls);
}

void write(Writer& writer, const ModeRequest& request) {
  writer.number(request.kind).number(request.count);
}

void write(Writer& writer, const SaveRequest& request) {
  encode(writer, request.decision);
  writer.text(request.path);
}

void write(Writer& writer, const LoadRequest& request) {
  writer.text(request.path).number(request.check_only);
}

void write(Writer& /*writer*/, const BarrierRequest& /*request*/) {
}
void write(Writer& /*writer*/, const StatusRequest& /*request*/) {
}
void write(Writer& /*writer*/, const LeaveRequest& /*request*/) {
}
void write(Writer& writer, const AttachRequest& request) {
  writer.number(request.part).number(request.copies).number(request.session);
}

DeclareRequest read_declare(Reader& reader, ByteSpan whole) {
  DeclareRequest request{.first_variable = reader.number<uint32_t>()};
  request.initializes = reader.number<bool>();
  constexpr size_t variable_bytes_min = 90;
  request.variables.resize(reader.count(variable_bytes_min));
  for (VariableSpec& variable : request.variables)
    variable = decode_variable(reader);
  constexpr size_t shard_bytes_min = 2 * sizeof(uint32_t) + 3 * sizeof(uint64_t);
  request.shards.resize(reader.count(shard_bytes_min));
  for (ShardDeclaration& declared : request.shards) {
    declared.shard = decode_shard(reader);
    declared.initial = decode_aligned(reader, whole);
  }
  return request;
}

PushRequest read_push(Reader& reader, ByteSpan whole) {
  PushRequest request{.decision = decode_decision(reader)};
  request.kind = read_enum(reader, PsMode::Kind::bounded);
  request.round = reader.number<uint64_t>();
  request.seen_step = reader.number<uint64_t>();
  request.learning_rate = reader.number<double>();
  request.scale = reader.number<double>();
  const bool usable = std::isfinite(request.learning_rate) && request.learning_rate >= 0 &&
                      std::isfinite(request.scale);
  if (!usable) reader.refuse();
  constexpr size_t gradient_bytes_min = sizeof(uint32_t) + 1 + 2 * sizeof(uint64_t);
  request.gradients.resize(reader.count(gradient_bytes_min));
  for (ShardGradient& gradient : request.gradients) {
    gradient.shard = reader.number<uint32_t>();
    gradient.sparse = reader.number<bool>();
    gradient.rows = decode_aligned(reader, whole);
    gradient.values = decode_aligned(reader, whole);
  }
  request.pulls = decode_pulls(reader, whole);
  return request;
}

CommitRequest read_commit(Reader& reader) {
  CommitRequest request{.mode = decode_mode(reader)};
  request.round = reader.number<uint64_t>();
  return request;
}

PullRequest read_pull(Reader& reader, ByteSpan whole) {
  PullRequest request{.decision = decode_decision(reader)};
  request.pulls = decode_pulls(reader, whole);
  return request;
}

ModeRequest read_mode(Reader& reader) {
  ModeRequest request{.kind = read_enum(reader, PsMode::Kind::bounded)};
  request.count = reader.number<uint32_t>();
  return request;
}

SaveRequest read_save(Reader& reader) {
  SaveRequest request{.decision = decode_decision(reader)};
  request.path = reader.text();
  return request;
}

LoadRequest read_load(Reader& reader) {
  LoadRequest request{.path = reader.text()};
  request.check_only = reader.number<bool>();
  return request;
}

AttachRequest read_attach(Reader& reader) {
  AttachRequest request{.part = reader.number<uint32_t>()};
  request.copies = reader.number<uint32_t>();
  request.session = reader.number<uint64_t>();
  return request;
}

PsRequest read_request(Reader& reader, ByteSpan whole) {
  switch (reader.number<uint8_t>()) {
    case 0:
      return read_declare(reader, whole);
    case 1:
      return read_push(reader, whole);
    case 2:
      return read_commit(reader);
    case 3:
      return read_pull(reader, whole);
    case 4:
      return read_mode(reader);
    case 5:
      return read_save(reader);
    case 6:
      return read_load(reader);
    case 7:
      return BarrierRequest{};
    case 8:
      return StatusRequest{};
    case 9:
      return LeaveRequest{};
    case 10:
      return read_attach(reader);
    default:
      reader.refuse();
      return StatusRequest{};
  }
}

void write_counts(Writer& writer, const std::vector<uint64_t>& counts) {
  writer.number(static_cast<uint32_t>(counts.size()));
  for (const uint64_t count : counts)
    writer.number(count);
}

std::vector<uint64_t> read_counts(Reader& reader) {
  std::vector<uint64_t> counts(reader.count(sizeof(uint64_t)));
  for (uint64_t& count : counts)
    count = reader.number<uint64_t>();
  return counts;
}

void encode(Writer& writer, const PsStatus& status) {
  writer.number(status.variables).number(status.bytes);
  write_counts(writer, status.pushes);
  write_counts(writer, status.stale);
  for (const uint64_t count : status.staleness)
    writer.number(count);
}

PsStatus decode_status(Reader& reader) {
  PsStatus status{.variables = reader.number<uint64_t>()};
  status.bytes = reader.number<uint64_t>();
  status.pushes = read_counts(reader);
  status.stale = read_counts(reader);
  for (uint64_t& count : status.staleness)
    count = reader.number<uint64_t>();
  return status;
}

}  // namespace

std::string ps_endpoint_key(const TaskId& task) {
  return format("ps/{}/{}/endpoint", task.role, task.index);
}

std::string ps_replica_key(const TaskId& task) {
  return format("ps/{}/{}/replica", task.role, task.index);
}

void encode(Writer& writer, const VariableSpec& variable) {
  writer.text(variable.name).number(variable.type);
  write_counts(writer, variable.shape);
  encode(writer, variable.optimizer);
}

VariableSpec decode_variable(Reader& reader) {
  VariableSpec variable{.name = reader.text()};
  variable.type = read_enum(reader, ElementType::boolean);
  variable.shape = read_counts(reader);
  variable.optimizer = decode_optimizer(reader);
  return variable;
}

void encode(Writer& writer, const ShardSpec& shard) {
  writer.number(shard.number).number(shard.variable).number(shard.first_row).number(shard.rows);
}

ShardSpec decode_shard(Reader& reader) {
  ShardSpec shard{.number = reader.number<uint32_t>()};
  shard.variable = reader.number<uint32_t>();
  shard.first_row = reader.number<uint64_t>();
  shard.rows = reader.number<uint64_t>();
  return shard;
}

MessageParts encode_parts(const PsRequest& request) {
  PartsWriter writer;
  writer.number(static_cast<uint8_t>(request.index()));
  std::visit([&](const auto& which) { write(writer, which); }, request);
  return writer.take_parts();
}

Bytes encode(const PsRequest& request) {
  return encode_parts(request).joined();
}

Bytes encode(const PsReply& reply) {
  return encode_parts(reply).joined();
}

MessageParts encode_parts(const PsReply& reply) {
  PartsWriter writer;
  writer.number(reply.error.has_value());
  if (reply.error)
    writer.number(static_cast<uint8_t>(reply.error->code)).text(reply.error->message);
  writer.number(reply.verdict);
  encode(writer, reply.mode);
  encode(writer, reply.decision);
  writer.number(reply.step).number(reply.status.has_value());
  if (reply.status) encode(writer, *reply.status);
  writer.number(static_cast<uint32_t>(reply.values.size()));
  for (size_t i = 0; i < reply.values.size(); ++i) {
    if (i < reply.later.size() && reply.later[i] != nullptr) {
      writer.borrow_later(reply.values[i], reply.later[i]);
    } else {
      writer.borrow_aligned(reply.values[i]);
    }
  }
  MessageParts parts = writer.take_parts();
  parts.owners.insert(parts.owners.end(), reply.owners.begin(), reply.owners.end());
  return parts;
}

Result<PsRequest> decode_ps_request(ByteSpan bytes) {
  Reader reader(bytes);
  PsRequest request = read_request(reader, bytes);
  TRY(reader.finish("a request to a parameter server"));
  return request;
}

namespace {

/// Reads the fields of a reply that precede its values.
PsReply read_before_values(Reader& reader) {
  PsReply reply;
  if (reader.number<bool>()) {
    const Errc code = read_enum(reader, Errc::out_of_memory);
    reply.error = Error{code, reader.text()};
  }
  reply.verdict = read_enum(reader, PsVerdict::mode_changed);
  reply.mode = decode_mode(reader);
  reply.decision = decode_decision(reader);
  reply.step = reader.number<uint64_t>();
  if (reader.number<bool>()) reply.status = decode_status(reader);
  return reply;
}

}  // namespace

std::optional<PsReplyPlace> place_behind(ByteSpan arrived) {
  Reader reader(arrived);
  read_before_values(reader);
  const auto count = reader.number<uint32_t>();
  for (size_t value = 0; value < count; ++value) {
    const auto size = reader.number<uint64_t>();
    reader.raw(padding_at(arrived.size() - reader.rest().size()));
    if (!reader.ok()) return std::nullopt;
    const size_t offset = reader.rest().size();
    if (offset < size) return PsReplyPlace{value, offset, size};
    reader.raw(size);
  }
  return std::nullopt;
}

Result<PsReply> decode_ps_reply(ByteSpan bytes) {
  Reader reader(bytes);
  PsReply reply = read_before_values(reader);
  reply.values.resize(reader.count(sizeof(uint64_t)));
  for (ByteSpan& value : reply.values)
    value = decode_aligned(reader, bytes);
  TRY(reader.finish("the reply of a parameter server"));
  return reply;
}

}  // namespace dt
