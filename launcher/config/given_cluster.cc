#include "launcher/config/given_cluster.h"

#include "base/format.h"
#include "base/json.h"
#include "base/text.h"
#include "rendezvous/cluster_text.h"
#include "rendezvous/tf_config.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

Result<ClusterSpec> parse_either(std::string_view text) {
  if (!trim(text).starts_with('{')) return parse_cluster_text(text);
  return ClusterSpec::from_json(TRY(Json::parse(text)));
}

bool has_tasks(const ClusterSpec& cluster) {
  return std::ranges::any_of(cluster.jobs, [](const auto& job) { return !job.second.empty(); });
}

}  // namespace

Result<GivenCluster> parse_cluster_option(std::string_view text, std::string origin) {
  auto cluster = parse_either(text);
  if (!cluster) return tl::unexpected(std::move(cluster).error().during(origin));
  if (!has_tasks(*cluster)) return fail(Errc::input, origin + ": cluster: it has no tasks");
  return GivenCluster{.cluster = *std::move(cluster), .origin = std::move(origin)};
}

Result<GivenCluster> given_by_tf_config(std::string_view text) {
  TfConfig config = TRY(parse_tf_config(text));
  if (!config.task) {
    return fail(Errc::input,
                "TF_CONFIG: task: missing; {\"type\": …, \"index\": …} says which task "
                "to start here, or -np how many without it");
  }
  return GivenCluster{.cluster = std::move(config.cluster),
                      .task = std::move(config.task),
                      .origin = "TF_CONFIG",
                      .tf_config = std::string(text)};
}

std::optional<std::string> found_tf_config(const Environment& environment) {
  const auto found = environment.find("TF_CONFIG");
  if (found == environment.end() || trim(found->second).empty()) return std::nullopt;
  return found->second;
}

}  // namespace dt
