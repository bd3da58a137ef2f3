#include "launcher/config/external_cluster.h"

#include "base/format.h"
#include "base/json.h"
#include "base/text.h"
#include "launcher/config/placement_options.h"
#include "rendezvous/cluster/cluster_text.h"
#include "rendezvous/cluster/tf_config.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dt {

namespace {

Result<ClusterSpec> parse_either(std::string_view text) {
  if (!trim(text).starts_with('{')) return parse_cluster_text(text);
  const Json json = TRY(Json::parse(text));
  return ClusterSpec::from_json(json);
}

/// Checks dtrain's own requirements, which TensorFlow does not have. They are valid names of roles,
/// at least one task, and no more than processes_max.
Result<> check_usable(const ExternalCluster& external) {
  size_t tasks = 0;
  for (const auto& [role, addresses] : external.cluster.jobs) {
    TRY(check_role_name(role, external.origin + ": cluster"));
    tasks += addresses.size();
  }
  if (tasks == 0) return fail(Errc::input, external.origin + ": cluster: it has no tasks");
  if (tasks <= size_t{processes_max}) return {};
  return fail(Errc::input,
              format("{}: cluster: {} tasks; at most {}", external.origin, tasks, processes_max));
}

/// True when the indices have no gap: each is below the number of tasks.
bool is_dense(const std::map<int, std::string>& tasks) {
  return tasks.empty() || tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1;
}

}  // namespace

std::vector<Role> roles_of(const ExternalCluster& external) {
  std::vector<Role> roles;
  for (const auto& [role, tasks] : external.cluster.jobs) {
    if (tasks.empty()) continue;
    roles.push_back(
        {.name = role, .count = static_cast<int>(tasks.size()), .ranked = is_ranked(role)});
  }
  if (external.task && find_role(roles, external.task->role) == nullptr)
    roles.push_back({.name = external.task->role, .count = 1, .ranked = false});
  const bool sparse = std::ranges::any_of(roles, [&external](const Role& role) {
    return role.ranked && !is_dense(external.cluster.jobs.at(role.name));
  });
  for (Role& role : roles)
    role.ranked = role.ranked && !sparse;
  return roles;
}

Result<ExternalCluster> parse_cluster_option(std::string_view text, std::string origin) {
  auto cluster = parse_either(text);
  if (!cluster) return tl::unexpected(std::move(cluster).error().during(origin));
  ExternalCluster external = {.cluster = *std::move(cluster), .origin = std::move(origin)};
  TRY(check_usable(external));
  return external;
}

Result<ExternalCluster> cluster_of_tf_config(std::string_view text) {
  TfConfig config = TRY(parse_tf_config(text));
  if (!config.task) {
    return fail(Errc::input,
                "TF_CONFIG: task: missing; {\"type\": …, \"index\": …} names the task "
                "to start here; without it, give -np N");
  }
  ExternalCluster external = {.cluster = std::move(config.cluster),
                              .task = std::move(config.task),
                              .origin = "TF_CONFIG",
                              .tf_config = std::string(text)};
  TRY(check_usable(external));
  return external;
}

std::optional<std::string> found_tf_config(const Environment& environment) {
  if (environment.contains("DTRAIN_ROLE")) return std::nullopt;
  const auto found = environment.find("TF_CONFIG");
  if (found == environment.end() || trim(found->second).empty()) return std::nullopt;
  return found->second;
}

}  // namespace dt
