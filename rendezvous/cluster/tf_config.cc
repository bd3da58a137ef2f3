#include "rendezvous/cluster/tf_config.h"

#include "base/format.h"
#include "base/json.h"
#include "base/text.h"

#include <cassert>
#include <limits>
#include <utility>
#include <vector>

namespace dt {

namespace {

tl::unexpected<Error> wrong(std::string_view field, std::string_view expected, const Json* found) {
  return fail(Errc::input, format("{}: expected {}, got {}", field, expected,
                                  found == nullptr ? "nothing" : printable(found->text(), 40)));
}

Result<std::string> read_type(const Json& task) {
  const Json* const type = task.find("type");
  const auto* const role = type == nullptr ? nullptr : type->as<std::string>();
  if (role == nullptr || role->empty()) return wrong("task.type", "a role", type);
  return *role;
}

/// TensorFlow converts the index by int(), so "1" and 1 are equal.
Result<int> read_index(const Json& task) {
  const Json* const index = task.find("index");
  std::optional<int64_t> number;
  if (index != nullptr) {
    if (const auto* whole = index->as<int64_t>()) number = *whole;
    if (const auto* text = index->as<std::string>()) number = parse_integer(trim(*text));
  }
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) {
    return wrong("task.index", "a number from 0", index);
  }
  return static_cast<int>(*number);
}

Result<> check_is_in(const ClusterSpec& cluster, const TaskId& task) {
  if (task == TaskId{std::string(evaluator_role), 0}) return {};
  const auto job = cluster.jobs.find(task.role);
  if (job == cluster.jobs.end()) {
    std::vector<std::string> roles;
    for (const auto& [role, tasks] : cluster.jobs)
      roles.push_back(role);
    return fail(Errc::input, format("task.type: the cluster has no role {}; it has {}",
                                    printable(task.role), join(roles, ", ")));
  }
  if (job->second.contains(task.index)) return {};
  return fail(Errc::input, format("task.index: the cluster has no {}; it has {} of that role",
                                  task.text(), job->second.size()));
}

Result<TfConfig> read(std::string_view text) {
  const Json json = TRY(Json::parse(text));
  if (json.as<Json::Object>() == nullptr) {
    return fail(Errc::input, format(R"(expected {{"cluster": {{…}}, "task": {{…}}}}, got {})",
                                    printable(json.text(), 40)));
  }
  const Json* const cluster = json.find("cluster");
  if (cluster == nullptr) return wrong("cluster", R"({"role": ["host:port", …]})", nullptr);
  ClusterSpec spec = TRY(ClusterSpec::from_json(*cluster));
  TfConfig config = {.cluster = std::move(spec)};
  const Json* const task = json.find("task");
  if (task == nullptr) return config;
  if (task->as<Json::Object>() == nullptr) {
    return wrong("task", R"({"type": "role", "index": 0})", task);
  }
  std::string role = TRY(read_type(*task));
  const int index = TRY(read_index(*task));
  config.task = TaskId{.role = std::move(role), .index = index};
  TRY(check_is_in(config.cluster, *config.task));
  return config;
}

}  // namespace

Result<TfConfig> parse_tf_config(std::string_view text) {
  auto config = read(text);
  if (!config) return tl::unexpected(std::move(config).error().during("TF_CONFIG"));
  return config;
}

Result<std::string> tf_config_seen(const std::string& text, ClusterFilter filter) {
  const TfConfig config = TRY(parse_tf_config(text));
  assert(config.task);
  if (filter == ClusterFilter::none) return text;
  const Json json = TRY(Json::parse(text));
  Json::Object members = *json.as<Json::Object>();
  for (auto& [name, value] : members)
    if (name == "cluster") value = seen_by(*config.task, config.cluster, filter).json();
  return Json(std::move(members)).text();
}

std::string tf_cluster(const ClusterSpec& cluster) {
  ClusterSpec shown = cluster;
  shown.jobs.erase(std::string(evaluator_role));
  return shown.json().text();
}

std::string tf_config(std::string_view cluster, const TaskId& task) {
  const Json::Object self = {{"type", task.role}, {"index", task.index}};
  return format(R"({{"cluster":{},"task":{}}})", cluster, Json(self).text());
}

}  // namespace dt
