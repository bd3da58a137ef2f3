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
  return ClusterSpec::from_json(TRY(Json::parse(text)));
}

/// What TensorFlow does not ask of a cluster, and we must.
Result<> check_usable(const ExternalCluster& given) {
  size_t tasks = 0;
  for (const auto& [role, addresses] : given.cluster.jobs) {
    TRY(check_role_name(role, given.origin + ": cluster"));
    tasks += addresses.size();
  }
  if (tasks == 0) return fail(Errc::input, given.origin + ": cluster: it has no tasks");
  if (tasks <= size_t{processes_max}) return {};
  return fail(Errc::input,
              format("{}: cluster: {} tasks; at most {}", given.origin, tasks, processes_max));
}

/// Each of so many tasks has an index below their number.
bool is_dense(const std::map<int, std::string>& tasks) {
  return tasks.empty() || tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1;
}

}  // namespace

std::vector<Role> roles_of(const ExternalCluster& given) {
  std::vector<Role> roles;
  for (const auto& [role, tasks] : given.cluster.jobs) {
    if (tasks.empty()) continue;
    roles.push_back(
        {.name = role, .count = static_cast<int>(tasks.size()), .ranked = is_ranked(role)});
  }
  if (given.task && find_role(roles, given.task->role) == nullptr)
    roles.push_back({.name = given.task->role, .count = 1, .ranked = false});
  const bool sparse = std::ranges::any_of(roles, [&given](const Role& role) {
    return role.ranked && !is_dense(given.cluster.jobs.at(role.name));
  });
  for (Role& role : roles)
    role.ranked = role.ranked && !sparse;
  return roles;
}

Result<ExternalCluster> parse_cluster_option(std::string_view text, std::string origin) {
  auto cluster = parse_either(text);
  if (!cluster) return tl::unexpected(std::move(cluster).error().during(origin));
  ExternalCluster given = {.cluster = *std::move(cluster), .origin = std::move(origin)};
  TRY(check_usable(given));
  return given;
}

Result<ExternalCluster> cluster_of_tf_config(std::string_view text) {
  TfConfig config = TRY(parse_tf_config(text));
  if (!config.task) {
    return fail(Errc::input,
                "TF_CONFIG: task: missing; {\"type\": …, \"index\": …} says which task "
                "to start here, or -np how many without it");
  }
  ExternalCluster given = {.cluster = std::move(config.cluster),
                           .task = std::move(config.task),
                           .origin = "TF_CONFIG",
                           .tf_config = std::string(text)};
  TRY(check_usable(given));
  return given;
}

std::optional<std::string> found_tf_config(const Environment& environment) {
  if (environment.contains("DTRAIN_ROLE")) return std::nullopt;
  const auto found = environment.find("TF_CONFIG");
  if (found == environment.end() || trim(found->second).empty()) return std::nullopt;
  return found->second;
}

}  // namespace dt
