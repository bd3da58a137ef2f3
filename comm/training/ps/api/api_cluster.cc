#include "comm/api/api_support.h"
#include "comm/include/dtrain/dtrain_ps.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/cluster_text.h"

#include <memory>
#include <string>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the name of C's opaque type
struct dtrain_cluster {
  dt::ClusterSpec spec;
};
// NOLINTEND(readability-identifier-naming)

dtrain_cluster* dtrain_cluster_parse(const char* text, dtrain_error* error) {
  return dt::make_handle(error, [&]() -> dt::Result<std::unique_ptr<dtrain_cluster>> {
    if (text == nullptr) return dt::fail(dt::Errc::input, "the text of the cluster is NULL");
    dt::ClusterSpec spec = TRY(dt::parse_cluster_text(text));
    return std::make_unique<dtrain_cluster>(dtrain_cluster{std::move(spec)});
  });
}

void dtrain_cluster_free(dtrain_cluster* cluster) {
  const std::unique_ptr<dtrain_cluster> owned(cluster);
}

int dtrain_cluster_tasks(const dtrain_cluster* cluster, const char* job) {
  if (cluster == nullptr || job == nullptr) return 0;
  const auto at = cluster->spec.jobs.find(job);
  return at == cluster->spec.jobs.end() ? 0 : static_cast<int>(at->second.size());
}

const char* dtrain_cluster_address(const dtrain_cluster* cluster, const char* job, int task) {
  if (cluster == nullptr || job == nullptr) return nullptr;
  const std::string* const address = cluster->spec.address_of({job, task});
  return address == nullptr ? nullptr : address->c_str();
}
