#include "launcher/config/jobs/job_resources.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/config/jobs/job_keys.h"
#include "launcher/config/resources/role_resources.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

using Kind = TomlValue::Kind;

constexpr std::array resource_keys = {"cpus", "gpus", "memory"};

/// Returns the value as it stands on a command line; none for one that has no such form.
std::optional<std::string> value_text(const TomlValue& value) {
  if (value.kind == Kind::integer) return format("{}", value.integer);
  if (value.kind == Kind::real) return format("{}", value.real);
  if (value.kind == Kind::text) return value.text;
  return std::nullopt;
}

/// True for a value that the key takes.
bool is_valid(std::string_view key, const TomlValue& value, const std::string& text) {
  if (key == "memory") return value.kind == Kind::text && parse_memory(text).has_value();
  if (value.kind == Kind::text) return false;
  if (key == "gpus") return parse_gpu_count(text).has_value();
  const auto cores = parse_integer(text);
  return cores && *cores >= 1 && *cores <= task_cpus_max;
}

std::string_view wanted_of(std::string_view key) {
  return key == "memory" ? memory_wanted : key == "gpus" ? gpus_wanted : cpus_wanted;
}

}  // namespace

Result<> read_role_resources(const TomlDocument& document, std::string_view role,
                             const TomlEntry& entry, OptionSource& options) {
  if (!entry.value.is_table()) {
    return document.refuse(entry, format("resources: expected a table, such as {{ gpus = 1 }}, "
                                         "got {}",
                                         entry.value.kind_name()));
  }
  for (const TomlEntry& key : entry.value.entries) {
    const std::string name = spelled_key(key.key);
    if (name != "cpus" && name != "gpus" && name != "memory") {
      return refuse_unknown_key(document, key, resource_keys,
                                format("the resources of [roles.{}]", role));
    }
    const auto text = value_text(key.value);
    if (!text || !is_valid(name, key.value, *text)) {
      const std::string got = !text                          ? std::string(key.value.kind_name())
                              : key.value.kind == Kind::text ? format("\"{}\"", printable(*text))
                                                             : *text;
      return document.refuse(key, format("{}: expected {}, got {}", name, wanted_of(name), got));
    }
    const std::string option = "role-" + name;
    add_job_value(document, key, {option, format("{}={}", role, *text)}, options);
  }
  return {};
}

Result<> read_role_ports(const TomlDocument& document, std::string_view role,
                         const TomlEntry& entry, OptionSource& options) {
  std::vector<std::string> ports;
  bool valid = entry.value.kind == Kind::array && !entry.value.elements.empty();
  for (const TomlValue& element : entry.value.elements) {
    ports.push_back(format("{}", element.integer));
    valid = valid && element.kind == Kind::integer && parse_port_range(ports.back());
  }
  if (!valid)
    return document.refuse(entry, "ports: expected an array of ports of 1024..65535, as [2222]");
  add_job_value(document, entry, {"role-ports", format("{}={}", role, join(ports, ","))}, options);
  return {};
}

}  // namespace dt
