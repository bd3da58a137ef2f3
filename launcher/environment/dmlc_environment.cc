#include "launcher/environment/dmlc_environment.h"

#include "base/format.h"

namespace dt {
namespace {

size_t tasks_of(const ClusterSpec& cluster, const std::string& role) {
  const auto job = cluster.jobs.find(role);
  return job == cluster.jobs.end() ? 0 : job->second.size();
}

}  // namespace

void add_dmlc_scheduler(Environment& common, const ClusterSpec& cluster) {
  const std::string* address = cluster.address_of({"scheduler", 0});
  if (address == nullptr) return;
  const auto [host, port] = split_address(*address);
  common["DMLC_PS_ROOT_URI"] = host;
  common["DMLC_PS_ROOT_PORT"] = port;
  common["DMLC_NUM_SERVER"] = format("{}", tasks_of(cluster, "server"));
  common["DMLC_NUM_WORKER"] = format("{}", tasks_of(cluster, "worker"));
}

void add_dmlc_task(Environment& environment, const ClusterSpec& cluster, const TaskId& task) {
  if (task.role != "scheduler" && task.role != "server" && task.role != "worker") return;
  environment["DMLC_ROLE"] = task.role;
  if (task.role == "server") environment["DMLC_SERVER_ID"] = format("{}", task.index);
  if (task.role == "worker") environment["DMLC_WORKER_ID"] = format("{}", task.index);
  // Without it, ps-lite would announce the address of the first interface that it finds.
  const std::string* address = cluster.address_of(task);
  if (address != nullptr) environment["DMLC_NODE_HOST"] = split_address(*address).host;
}

}  // namespace dt
