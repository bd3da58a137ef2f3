#include "launcher/protocol/message_fields.h"

namespace dt {

void put(Writer& writer, const Environment& environment) {
  writer.number(static_cast<uint32_t>(environment.size()));
  for (const auto& [name, value] : environment)
    writer.text(name).text(value);
}

Environment get_environment(Reader& reader) {
  Environment environment;
  const uint32_t count = reader.count(2 * sizeof(uint32_t));
  for (uint32_t i = 0; i < count; ++i) {
    std::string name = reader.text();
    environment[std::move(name)] = reader.text();
  }
  return environment;
}

void put(Writer& writer, const ClusterSpec& cluster) {
  writer.number(static_cast<uint32_t>(cluster.jobs.size()));
  for (const auto& [role, tasks] : cluster.jobs) {
    writer.text(role).number(static_cast<uint32_t>(tasks.size()));
    for (const auto& [index, address] : tasks)
      writer.number(int32_t{index}).text(address);
  }
}

ClusterSpec get_cluster(Reader& reader) {
  ClusterSpec cluster;
  const uint32_t roles = reader.count(2 * sizeof(uint32_t));
  for (uint32_t i = 0; i < roles; ++i) {
    auto& tasks = cluster.jobs[reader.text()];
    const uint32_t count = reader.count(2 * sizeof(uint32_t));
    for (uint32_t k = 0; k < count; ++k) {
      const auto index = reader.number<int32_t>();
      tasks.emplace_hint(tasks.end(), index, reader.text());
    }
  }
  return cluster;
}

void put(Writer& writer, const std::optional<JobMacros>& macros) {
  writer.number(macros.has_value());
  if (!macros) return;
  writer.number(static_cast<uint32_t>(macros->variables.size()));
  for (const auto& [role, names] : macros->variables)
    writer.text(role).texts(names);
  writer.number(int32_t{macros->world_size});
  writer.text(macros->master_address).number(macros->master_port);
  writer.text(macros->job_id).text(macros->code_dir);
}

std::optional<JobMacros> get_macros(Reader& reader) {
  if (!reader.number<bool>()) return std::nullopt;
  JobMacros macros;
  const uint32_t roles = reader.count(2 * sizeof(uint32_t));
  for (uint32_t i = 0; i < roles; ++i) {
    std::string role = reader.text();
    macros.variables[std::move(role)] = reader.texts();
  }
  macros.world_size = reader.number<int32_t>();
  macros.master_address = reader.text();
  macros.master_port = reader.number<uint16_t>();
  macros.job_id = reader.text();
  macros.code_dir = reader.text();
  return macros;
}

void put(Writer& writer, const Address& address) {
  writer.text(address.ip).number(address.port);
}

Address get_address(Reader& reader) {
  std::string ip = reader.text();
  return {std::move(ip), reader.number<uint16_t>()};
}

void put(Writer& writer, const std::vector<Address>& addresses) {
  writer.number(static_cast<uint32_t>(addresses.size()));
  for (const Address& address : addresses)
    put(writer, address);
}

std::vector<Address> get_addresses(Reader& reader) {
  std::vector<Address> addresses(reader.count(sizeof(uint32_t) + sizeof(uint16_t)));
  for (Address& address : addresses)
    address = get_address(reader);
  return addresses;
}

void put(Writer& writer, const std::vector<ProbeTarget>& targets) {
  writer.number(static_cast<uint32_t>(targets.size()));
  for (const ProbeTarget& target : targets) {
    writer.number(target.number);
    put(writer, target.addresses);
  }
}

std::vector<ProbeTarget> get_targets(Reader& reader) {
  std::vector<ProbeTarget> targets(reader.count(2 * sizeof(uint32_t)));
  for (ProbeTarget& target : targets) {
    target.number = reader.number<uint32_t>();
    target.addresses = get_addresses(reader);
  }
  return targets;
}

void put(Writer& writer, const std::optional<PortRange>& range) {
  const PortRange written = range.value_or(PortRange());
  writer.number(written.first).number(written.last);
}

std::optional<PortRange> get_port_range(Reader& reader) {
  PortRange range;
  range.first = reader.number<uint16_t>();
  range.last = reader.number<uint16_t>();
  if (range.first == 0 || range.last < range.first) return std::nullopt;
  return range;
}

}  // namespace dt
