#include "launcher/protocol/host_resources.h"

#include <algorithm>

namespace dt {

namespace {

/// Stands on the wire for a host without a CPU quota.
constexpr int32_t no_quota = -1;

void put(Writer& writer, const Topology& topology) {
  writer.number(static_cast<uint32_t>(topology.cores.size()));
  for (const Core& core : topology.cores) {
    writer.number(int32_t{core.numa_node}).number(static_cast<uint32_t>(core.cpus.size()));
    for (const int cpu : core.cpus)
      writer.number(int32_t{cpu});
  }
}

Topology get_topology(Reader& reader) {
  Topology topology;
  topology.cores.resize(reader.count(2 * sizeof(uint32_t)));
  for (Core& core : topology.cores) {
    core.numa_node = reader.number<int32_t>();
    core.cpus.resize(reader.count(sizeof(int32_t)));
    for (int& cpu : core.cpus)
      cpu = reader.number<int32_t>();
  }
  return topology;
}

void put(Writer& writer, const Gpu& gpu) {
  writer.number(int32_t{gpu.index}).text(gpu.uuid).text(gpu.parent).text(gpu.name).text(gpu.bus_id);
  writer.number(int32_t{gpu.numa_node}).number(gpu.memory_bytes).number(gpu.memory_free_bytes);
  writer.text(gpu.visible_as).text(gpu.compute_mode);
}

Gpu get_gpu(Reader& reader) {
  Gpu gpu;
  gpu.index = reader.number<int32_t>();
  gpu.uuid = reader.text();
  gpu.parent = reader.text();
  gpu.name = reader.text();
  gpu.bus_id = reader.text();
  gpu.numa_node = reader.number<int32_t>();
  gpu.memory_bytes = reader.number<uint64_t>();
  gpu.memory_free_bytes = reader.number<uint64_t>();
  gpu.visible_as = reader.text();
  gpu.compute_mode = reader.text();
  return gpu;
}

void put(Writer& writer, const GpuList& list) {
  writer.number(static_cast<uint32_t>(list.gpus.size()));
  for (const Gpu& gpu : list.gpus)
    put(writer, gpu);
  writer.number(static_cast<uint32_t>(list.pairs.size()));
  for (const GpuPair& pair : list.pairs)
    writer.text(pair.first).text(pair.second).text(pair.path).text(pair.obstacle);
  writer.text(list.driver_version).text(list.cuda_version).texts(list.warnings);
}

GpuList get_gpu_list(Reader& reader) {
  constexpr size_t gpu_bytes_min = 8 * sizeof(uint32_t) + 2 * sizeof(uint64_t);
  GpuList list;
  list.gpus.resize(reader.count(gpu_bytes_min));
  for (Gpu& gpu : list.gpus)
    gpu = get_gpu(reader);
  list.pairs.resize(reader.count(4 * sizeof(uint32_t)));
  for (GpuPair& pair : list.pairs) {
    pair.first = reader.text();
    pair.second = reader.text();
    pair.path = reader.text();
    pair.obstacle = reader.text();
  }
  list.driver_version = reader.text();
  list.cuda_version = reader.text();
  list.warnings = reader.texts();
  return list;
}

void put(Writer& writer, const std::optional<std::string>& variable) {
  writer.number(variable.has_value()).text(variable.value_or(""));
}

std::optional<std::string> get_variable(Reader& reader) {
  const bool is_set = reader.number<bool>();
  std::string value = reader.text();
  return is_set ? std::optional(std::move(value)) : std::nullopt;
}

}  // namespace

int HostResources::cpu_slots() const {
  const int cpus = static_cast<int>(topology.cpus().size());
  return std::min(cpus, std::max(cpu_quota.value_or(cpus), 1));
}

Bytes encode(const ResourcesWanted& message) {
  return Writer().number(message.gpus).number(int64_t{message.patience.count()}).take();
}

Bytes encode(const HostResources& message) {
  Writer writer;
  put(writer, message.topology);
  writer.number(int32_t{message.cpu_quota.value_or(no_quota)});
  writer.number(message.memory_bytes).number(message.limits_memory);
  put(writer, message.gpus);
  put(writer, message.visible.cuda);
  put(writer, message.visible.nvidia);
  return writer.text(message.gpu_failure).number(message.has_driver).take();
}

template <>
Result<ResourcesWanted> decode(ByteSpan payload) {
  Reader reader(payload);
  ResourcesWanted message;
  message.gpus = reader.number<bool>();
  message.patience = Duration(reader.number<int64_t>());
  TRY(reader.finish("resources_wanted"));
  return message;
}

template <>
Result<HostResources> decode(ByteSpan payload) {
  Reader reader(payload);
  HostResources message;
  message.topology = get_topology(reader);
  const auto quota = reader.number<int32_t>();
  if (quota != no_quota) message.cpu_quota = quota;
  message.memory_bytes = reader.number<uint64_t>();
  message.limits_memory = reader.number<bool>();
  message.gpus = get_gpu_list(reader);
  message.visible.cuda = get_variable(reader);
  message.visible.nvidia = get_variable(reader);
  message.gpu_failure = reader.text();
  message.has_driver = reader.number<bool>();
  TRY(reader.finish("resources"));
  return message;
}

}  // namespace dt
