#include "launcher/protocol/host_diagnostics.h"

#include "base/format.h"

#include <algorithm>

namespace dt {

namespace {

/// Lists the members with their names, once for writing and reader.
template <class Facts, class Visitor>
void visit(Facts& facts, Visitor& member) {
  member("dtrain", facts.dtrain);
  member("executable", facts.executable);
  member("hostname", facts.hostname);
  member("architecture", facts.architecture);
  member("kernel", facts.kernel);
  member("glibc", facts.glibc);
  member("addresses", facts.addresses);
  member("cpus_allowed", facts.cpus_allowed);
  member("cpus_online", facts.cpus_online);
  member("memory_bytes", facts.memory_bytes);
  member("memory_free_bytes", facts.memory_free_bytes);
  member("open_files", facts.open_files);
  member("locked_memory_bytes", facts.locked_memory);
  member("shared_memory", facts.shared_memory);
  member("home", facts.home);
  member("temporary", facts.temporary);
  member("python_path", facts.python_path);
  member("python_version", facts.python_version);
  member("path_missing", facts.path_missing);
  member("command_path", facts.command_path);
  member("command_failure", facts.command_failure);
  member("command_sha256", facts.command_sha256);
  member("modules", facts.modules);
  member("folder", facts.folder);
  member("folder_failure", facts.folder_failure);
  member("files_missing", facts.files_missing);
  member("home_failure", facts.home_failure);
  member("name_addresses", facts.name_addresses);
  member("name_failure", facts.name_failure);
  member("gpus", facts.gpus.gpus);
  member("gpu_pairs", facts.gpus.pairs);
  member("gpu_driver", facts.gpus.driver_version);
  member("gpu_cuda", facts.gpus.cuda_version);
  member("gpu_warnings", facts.gpus.warnings);
  member("gpu_failure", facts.gpu_failure);
  member("gpus_on_bus", facts.gpus_on_bus);
  member("rdma_devices", facts.rdma_devices);
}

template <class Visitor>
void visit_limit(auto& limit, Visitor& member) {
  member("soft", limit.soft);
  member("hard", limit.hard);
}

template <class Visitor>
void visit_room(auto& room, Visitor& member) {
  member("path", room.path);
  member("bytes", room.bytes);
  member("free_bytes", room.free_bytes);
}

template <class Visitor>
void visit_module(auto& module, Visitor& member) {
  member("name", module.name);
  member("version", module.version);
  member("failure", module.failure);
}

template <class Visitor>
void visit_gpu(auto& gpu, Visitor& member) {
  member("index", gpu.index);
  member("uuid", gpu.uuid);
  member("parent", gpu.parent);
  member("name", gpu.name);
  member("bus_id", gpu.bus_id);
  member("numa_node", gpu.numa_node);
  member("memory_bytes", gpu.memory_bytes);
  member("memory_free_bytes", gpu.memory_free_bytes);
  member("visible_as", gpu.visible_as);
  member("compute_mode", gpu.compute_mode);
}

template <class Visitor>
void visit_gpu_pair(auto& pair, Visitor& member) {
  member("first", pair.first);
  member("second", pair.second);
  member("path", pair.path);
  member("obstacle", pair.obstacle);
}

/// Visitor that makes a JSON object of the members.
class FactsWriter {
 public:
  void operator()(const char* name, const auto& value) { object_.emplace_back(name, show(value)); }
  Json take() { return std::move(object_); }

 private:
  static Json show(const std::string& value) { return value.empty() ? Json() : Json(value); }
  static Json show(int64_t value) { return value; }
  static Json show(int value) { return value; }
  static Json show(uint64_t value) { return static_cast<int64_t>(value); }
  static Json show(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }
  static Json show(const Limit& limit) {
    FactsWriter inner;
    visit_limit(limit, inner);
    return inner.take();
  }
  static Json show(const Room& room) {
    FactsWriter inner;
    visit_room(room, inner);
    return inner.take();
  }
  static Json show(const PythonModule& module) {
    FactsWriter inner;
    visit_module(module, inner);
    return inner.take();
  }
  static Json show(const Gpu& gpu) {
    FactsWriter inner;
    visit_gpu(gpu, inner);
    return inner.take();
  }
  static Json show(const GpuPair& pair) {
    FactsWriter inner;
    visit_gpu_pair(pair, inner);
    return inner.take();
  }
  template <class T>
  static Json show(const std::vector<T>& values) {
    Json::Array array;
    for (const T& value : values)
      array.push_back(show(value));
    return array;
  }

  Json::Object object_;
};

/// Visitor that reads the members from a JSON object, and notes the first that is missing or wrong.
class FactsReader {
 public:
  explicit FactsReader(const Json& json) : json_(json) {}
  void operator()(const char* name, auto& value) {
    const Json* const found = json_.find(name);
    if ((found == nullptr || !read(*found, value)) && wrong_.empty()) wrong_ = name;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  static bool is_null(const Json& json) { return json == Json(); }
  static bool read(const Json& json, std::string& value) {
    if (const auto* text = json.as<std::string>()) value = *text;
    return is_null(json) || json.as<std::string>() != nullptr;
  }
  static bool read(const Json& json, int64_t& value) {
    const auto* number = json.as<int64_t>();
    if (number != nullptr) value = *number;
    return number != nullptr;
  }
  static bool read(const Json& json, int& value) {
    int64_t number = 0;
    const bool good = read(json, number);
    value = static_cast<int>(number);
    return good && value == number;
  }
  static bool read(const Json& json, uint64_t& value) {
    int64_t number = 0;
    const bool good = read(json, number);
    value = static_cast<uint64_t>(number);
    return good && number >= 0;
  }
  static bool read(const Json& json, std::optional<int64_t>& value) {
    if (const auto* number = json.as<int64_t>()) value = *number;
    return is_null(json) || value;
  }
  static bool read(const Json& json, Limit& limit) {
    FactsReader inner(json);
    visit_limit(limit, inner);
    return inner.wrong().empty();
  }
  static bool read(const Json& json, Room& room) {
    FactsReader inner(json);
    visit_room(room, inner);
    return inner.wrong().empty();
  }
  static bool read(const Json& json, PythonModule& module) {
    FactsReader inner(json);
    visit_module(module, inner);
    return inner.wrong().empty();
  }
  static bool read(const Json& json, Gpu& gpu) {
    FactsReader inner(json);
    visit_gpu(gpu, inner);
    return inner.wrong().empty();
  }
  static bool read(const Json& json, GpuPair& pair) {
    FactsReader inner(json);
    visit_gpu_pair(pair, inner);
    return inner.wrong().empty();
  }
  template <class T>
  static bool read(const Json& json, std::vector<T>& values) {
    const auto* array = json.as<Json::Array>();
    if (array == nullptr) return false;
    values.resize(array->size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!read((*array)[i], values[i])) return false;
    }
    return true;
  }

  const Json& json_;
  std::string wrong_;
};

}  // namespace

Json facts_json(const HostDiagnostics& facts) {
  FactsWriter writer;
  visit(facts, writer);
  return writer.take();
}

Result<HostDiagnostics> read_facts(const Json& json) {
  HostDiagnostics facts;
  FactsReader reader(json);
  visit(facts, reader);
  if (reader.wrong().empty()) return facts;
  return fail(Errc::protocol, format("facts of a host: {} is missing or wrong", reader.wrong()));
}

}  // namespace dt
