#include "launcher/protocol/message.h"

#include "base/format.h"
#include "base/io/signals.h"
#include "base/text.h"
#include "launcher/protocol/message_fields.h"

namespace dt {

std::optional<StreamId> StreamId::parse(uint32_t number) {
  if (number == 0) return std::nullopt;
  return StreamId{(number - 1) / 4, static_cast<TaskStream>((number - 1) % 4)};
}

std::string PortTaken::text() const {
  return format(
      "uid {}{} listens on port {}, which is held for this job: tasks may have connected to it "
      "instead of to each other. End that process; if it is one of this job, in a container, it "
      "must run as the user of dtrain",
      uid, process.empty() ? "" : ", " + printable(process) + ",", port);
}

namespace {

void get(Reader& reader, Hello& message) {
  message.build = reader.text();
  message.hostname = reader.text();
  message.addresses.resize(reader.count(2 * sizeof(uint32_t)));
  for (InterfaceAddress& address : message.addresses) {
    address.interface = reader.text();
    address.ip = reader.text();
  }
  message.machine.boot = reader.text();
  message.machine.network_namespace = reader.number<uint64_t>();
}

void get(Reader& reader, Prepare& message) {
  message.token = reader.text();
  message.job = reader.text();
  message.generation = reader.number<uint32_t>();
  message.command = reader.texts();
  message.role_commands.resize(reader.count(3 * sizeof(uint32_t)));
  for (RoleCommand& command : message.role_commands) {
    command.role = reader.text();
    command.words = reader.texts();
    command.path = reader.text();
  }
  message.cwd = reader.text();
  message.home_instead = reader.number<bool>();
  message.path = reader.text();
  message.tasks = reader.number<int32_t>();
  message.ports = reader.number<int32_t>();
  message.addresses = reader.texts();
  message.port_range = get_port_range(reader);
  message.probe = reader.number<bool>();
  message.networks = reader.texts();
  message.number = reader.number<uint32_t>();
  message.heartbeat = Duration(reader.number<int64_t>());
  message.dead_after = Duration(reader.number<int64_t>());
  message.environment_bytes = reader.number<uint64_t>();
  message.stage = reader.number<PrepareStage>();
  if (message.stage > PrepareStage::command) reader.refuse();
  message.mounts.resize(reader.count(3 * sizeof(uint32_t) + 1));
  for (Mount& mount : message.mounts) {
    mount.source = reader.text();
    mount.target = reader.text();
    mount.read_only = reader.number<bool>();
    mount.command = reader.text();
  }
  message.mount_patience = Duration(reader.number<int64_t>());
}

void get(Reader& reader, Prepared& message) {
  message.ports.resize(reader.count(sizeof(uint16_t)));
  for (uint16_t& port : message.ports)
    port = reader.number<uint16_t>();
  message.probe_endpoints.resize(reader.count(2 * sizeof(uint32_t) + sizeof(uint16_t)));
  for (ProbeEndpoint& endpoint : message.probe_endpoints) {
    endpoint.address = get_address(reader);
    endpoint.interface = reader.text();
  }
  message.home = reader.text();
  message.failure = reader.text();
  message.status = reader.number<int32_t>();
}

void get(Reader& reader, Probe& message) {
  message.targets = get_targets(reader);
  message.patience = Duration(reader.number<int64_t>());
  message.head_start = Duration(reader.number<int64_t>());
}

void get(Reader& reader, Reached& message) {
  message.targets = get_targets(reader);
}

void get(Reader& reader, Launch& message) {
  message.forwarded = get_environment(reader);
  message.common = get_environment(reader);
  message.cluster = get_cluster(reader);
  message.tf_config = reader.number<bool>();
  message.cluster_filter = reader.number<bool>() ? ClusterFilter::ps : ClusterFilter::none;
  message.macros = get_macros(reader);
  message.tasks.resize(reader.count(5 * sizeof(uint32_t)));
  for (TaskLaunch& task : message.tasks) {
    task.id = decode_task_id(reader);
    task.rank = reader.number<int32_t>();
    task.local_rank = reader.number<int32_t>();
    task.environment = get_environment(reader);
    task.wants_input = reader.number<uint8_t>() != 0;
    task.cpus.resize(reader.count(sizeof(int32_t)));
    for (int& cpu : task.cpus)
      cpu = reader.number<int32_t>();
    task.memory_max = reader.number<uint64_t>();
  }
  const uint32_t roles = reader.count(2 * sizeof(uint32_t));
  for (uint32_t i = 0; i < roles; ++i) {
    std::string role = reader.text();
    message.role_environments[std::move(role)] = get_environment(reader);
  }
  message.error_files = reader.number<bool>();
  message.pass_local_rank = reader.number<bool>();
  message.merge_stderr = reader.number<uint8_t>() != 0;
  message.line_buffer = reader.number<bool>();
  message.results = reader.number<bool>();
  message.excluded = reader.texts();
  message.own_variables = reader.number<bool>();
  message.interface = reader.text();
  message.relay = reader.number<bool>();
}

void get(Reader& reader, Restart& message) {
  message.task = decode_task_id(reader);
  message.attempt = reader.number<uint32_t>();
  message.changes = get_environment(reader);
}

void get(Reader& reader, SignalAll& message) {
  message.number = reader.number<int32_t>();
  message.only_caught = reader.number<bool>();
}

void get(Reader& reader, Finish& message) {
  message.patience = Duration(reader.number<int64_t>());
  message.stays = reader.number<bool>();
}

void get(Reader& reader, Started& message) {
  message.task = decode_task_id(reader);
  message.pid = reader.number<int64_t>();
}

void get(Reader& reader, StartFailed& message) {
  message.task = decode_task_id(reader);
  message.status = reader.number<int32_t>();
  message.why = reader.text();
}

void get(Reader& reader, Exited& message) {
  message.task = decode_task_id(reader);
  message.status.code = reader.number<int32_t>();
  message.status.signal = reader.number<int32_t>();
  message.status.out_of_memory = reader.number<uint8_t>() != 0;
  message.used.user = Duration(reader.number<int64_t>());
  message.used.system = Duration(reader.number<int64_t>());
  message.used.max_rss_bytes = reader.number<int64_t>();
  message.used.major_faults = reader.number<int64_t>();
  message.used.voluntary_switches = reader.number<int64_t>();
  message.used.involuntary_switches = reader.number<int64_t>();
  message.own_name = reader.text();
  if (reader.number<uint8_t>() == 0) return;
  message.error = TaskError{
      .message = reader.text(), .frame = reader.text(), .when_ns = reader.number<int64_t>()};
  message.sent_ns = reader.number<int64_t>();
}

void get(Reader& reader, Finished& message) {
  message.strays_ended = reader.number<int32_t>();
  message.contained_by = reader.text();
  message.unkillable = reader.texts();
}

constexpr std::string_view name_of(const Hello&) {
  return "hello";
}
constexpr std::string_view name_of(const Prepare&) {
  return "prepare";
}
constexpr std::string_view name_of(const Prepared&) {
  return "prepared";
}
constexpr std::string_view name_of(const Probe&) {
  return "probe";
}
constexpr std::string_view name_of(const Reached&) {
  return "reached";
}
constexpr std::string_view name_of(const Launch&) {
  return "launch";
}
constexpr std::string_view name_of(const Restart&) {
  return "restart";
}
constexpr std::string_view name_of(const SignalAll&) {
  return "signal";
}
constexpr std::string_view name_of(const Finish&) {
  return "finish";
}
constexpr std::string_view name_of(const Started&) {
  return "started";
}
constexpr std::string_view name_of(const StartFailed&) {
  return "start_failed";
}
constexpr std::string_view name_of(const Exited&) {
  return "exited";
}
constexpr std::string_view name_of(const Finished&) {
  return "finished";
}

}  // namespace

Bytes encode(const Hello& message) {
  Writer writer;
  writer.text(message.build).text(message.hostname);
  writer.number(static_cast<uint32_t>(message.addresses.size()));
  for (const InterfaceAddress& address : message.addresses)
    writer.text(address.interface).text(address.ip);
  writer.text(message.machine.boot).number(message.machine.network_namespace);
  return writer.take();
}

Bytes encode(const Prepare& message) {
  Writer writer;
  writer.text(message.token).text(message.job).number(message.generation);
  writer.texts(message.command);
  writer.number(static_cast<uint32_t>(message.role_commands.size()));
  for (const RoleCommand& command : message.role_commands)
    writer.text(command.role).texts(command.words).text(command.path);
  writer.text(message.cwd);
  writer.number(message.home_instead).text(message.path);
  writer.number(int32_t{message.tasks}).number(int32_t{message.ports}).texts(message.addresses);
  put(writer, message.port_range);
  writer.number(message.probe).texts(message.networks).number(message.number);
  writer.number(int64_t{message.heartbeat.count()}).number(int64_t{message.dead_after.count()});
  writer.number(message.environment_bytes).number(message.stage);
  writer.number(static_cast<uint32_t>(message.mounts.size()));
  for (const Mount& mount : message.mounts)
    writer.text(mount.source).text(mount.target).number(mount.read_only).text(mount.command);
  return writer.number(int64_t{message.mount_patience.count()}).take();
}

Bytes encode(const Prepared& message) {
  Writer writer;
  writer.number(static_cast<uint32_t>(message.ports.size()));
  for (const uint16_t port : message.ports)
    writer.number(port);
  writer.number(static_cast<uint32_t>(message.probe_endpoints.size()));
  for (const ProbeEndpoint& endpoint : message.probe_endpoints) {
    put(writer, endpoint.address);
    writer.text(endpoint.interface);
  }
  writer.text(message.home).text(message.failure).number(int32_t{message.status});
  return writer.take();
}

Bytes encode(const Probe& message) {
  Writer writer;
  put(writer, message.targets);
  return writer.number(int64_t{message.patience.count()})
      .number(int64_t{message.head_start.count()})
      .take();
}

Bytes encode(const Reached& message) {
  Writer writer;
  put(writer, message.targets);
  return writer.take();
}

Bytes encode(const Launch& message) {
  Writer writer;
  put(writer, message.forwarded);
  put(writer, message.common);
  put(writer, message.cluster);
  writer.number(message.tf_config).number(message.cluster_filter == ClusterFilter::ps);
  put(writer, message.macros);
  writer.number(static_cast<uint32_t>(message.tasks.size()));
  for (const TaskLaunch& task : message.tasks) {
    encode(writer, task.id);
    writer.number(int32_t{task.rank}).number(int32_t{task.local_rank});
    put(writer, task.environment);
    writer.number(static_cast<uint8_t>(task.wants_input));
    writer.number(static_cast<uint32_t>(task.cpus.size()));
    for (const int cpu : task.cpus)
      writer.number(int32_t{cpu});
    writer.number(task.memory_max);
  }
  writer.number(static_cast<uint32_t>(message.role_environments.size()));
  for (const auto& [role, environment] : message.role_environments) {
    writer.text(role);
    put(writer, environment);
  }
  writer.number(message.error_files).number(message.pass_local_rank);
  writer.number(static_cast<uint8_t>(message.merge_stderr));
  writer.number(message.line_buffer).number(message.results);
  writer.texts(message.excluded).number(message.own_variables);
  writer.text(message.interface).number(message.relay);
  return writer.take();
}

Bytes encode(const Restart& message) {
  Writer writer;
  encode(writer, message.task);
  writer.number(message.attempt);
  put(writer, message.changes);
  return writer.take();
}

Bytes encode(const SignalAll& message) {
  return Writer().number(int32_t{message.number}).number(message.only_caught).take();
}

Bytes encode(const Finish& message) {
  return Writer().number(int64_t{message.patience.count()}).number(message.stays).take();
}

Bytes encode(const Started& message) {
  Writer writer;
  encode(writer, message.task);
  return writer.number(message.pid).take();
}

Bytes encode(const StartFailed& message) {
  Writer writer;
  encode(writer, message.task);
  return writer.number(int32_t{message.status}).text(message.why).take();
}

Bytes encode(const Exited& message) {
  Writer writer;
  encode(writer, message.task);
  writer.number(int32_t{message.status.code}).number(int32_t{message.status.signal});
  writer.number(static_cast<uint8_t>(message.status.out_of_memory));
  const ResourceUse& used = message.used;
  writer.number(int64_t{used.user.count()}).number(int64_t{used.system.count()});
  writer.number(used.max_rss_bytes).number(used.major_faults);
  writer.number(used.voluntary_switches).number(used.involuntary_switches);
  writer.text(message.own_name);
  writer.number(static_cast<uint8_t>(message.error.has_value()));
  if (!message.error) return writer.take();
  const TaskError& error = *message.error;
  writer.text(error.message).text(error.frame).number(error.when_ns).number(message.sent_ns);
  return writer.take();
}

Bytes encode(const Finished& message) {
  Writer writer;
  writer.number(int32_t{message.strays_ended}).text(message.contained_by);
  return writer.texts(message.unkillable).take();
}

Bytes encode_credit(uint32_t bytes) {
  return Writer().number(bytes).take();
}

void append_message(Bytes& out, MessageType type, FrameHeader header, ByteSpan payload) {
  while (payload.size() > frame_payload_bytes_max) {
    header.type = static_cast<uint8_t>(MessageType::part);
    append_frame(out, header, payload.first(frame_payload_bytes_max));
    payload = payload.subspan(frame_payload_bytes_max);
  }
  header.type = static_cast<uint8_t>(type);
  append_frame(out, header, payload);
}

Result<std::optional<FrameView>> MessageAssembler::add(const FrameView& frame) {
  if (delivered_) parts_.clear();
  delivered_ = false;
  const bool part = static_cast<MessageType>(frame.header.type) == MessageType::part;
  if (parts_.empty() && !part) return std::optional(frame);
  if (parts_.size() + frame.payload.size() > message_bytes_max) {
    return fail(Errc::protocol, format("message of more than {} bytes", message_bytes_max));
  }
  parts_.insert(parts_.end(), frame.payload.begin(), frame.payload.end());
  if (part) return std::optional<FrameView>();
  delivered_ = true;
  return std::optional(FrameView{frame.header, parts_});
}

template <class Message>
Result<Message> decode(ByteSpan payload) {
  Message message;
  Reader reader(payload);
  get(reader, message);
  TRY(reader.finish(name_of(message)));
  return message;
}

template Result<Hello> decode(ByteSpan);
template Result<Prepare> decode(ByteSpan);
template Result<Prepared> decode(ByteSpan);
template Result<Probe> decode(ByteSpan);
template Result<Reached> decode(ByteSpan);
template Result<Launch> decode(ByteSpan);
template Result<Restart> decode(ByteSpan);
template Result<SignalAll> decode(ByteSpan);
template Result<Finish> decode(ByteSpan);
template Result<Started> decode(ByteSpan);
template Result<StartFailed> decode(ByteSpan);
template Result<Exited> decode(ByteSpan);
template Result<Finished> decode(ByteSpan);

Result<uint32_t> decode_credit(ByteSpan payload) {
  Reader reader(payload);
  const auto bytes = reader.number<uint32_t>();
  TRY(reader.finish("credit"));
  return bytes;
}

Bytes encode(const MpiAlone& message) {
  return Writer().number(message.tasks).take();
}

template <>
Result<MpiAlone> decode(ByteSpan payload) {
  Reader reader(payload);
  const MpiAlone message = {.tasks = reader.number<uint32_t>()};
  TRY(reader.finish("mpi_alone"));
  return message;
}

Bytes encode(const PortTaken& message) {
  return Writer().number(message.port).number(message.uid).text(message.process).take();
}

template <>
Result<PortTaken> decode(ByteSpan payload) {
  Reader reader(payload);
  PortTaken message;
  message.port = reader.number<uint16_t>();
  message.uid = reader.number<uint32_t>();
  message.process = reader.text();
  TRY(reader.finish("port_taken"));
  return message;
}

Bytes encode(const Signalled& message) {
  return Writer().number(message.number).take();
}

template <>
Result<Signalled> decode(ByteSpan payload) {
  Reader reader(payload);
  const Signalled message = {.number = reader.number<int>()};
  TRY(reader.finish("signalled"));
  return message;
}

}  // namespace dt
