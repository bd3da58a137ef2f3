#include "launcher/environment/paddle_environment.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/text.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace dt {
namespace {

constexpr const char* server_role = "ps";

/// Adds a list, unless it exceeds the limit of a variable.
void add_list(Environment& environment, const std::string& name,
              const std::vector<std::string>& addresses) {
  std::string list = join(addresses, ",");
  if (name.size() + list.size() + sizeof "=" > variable_bytes_max) return;
  environment[name] = std::move(list);
}

std::vector<std::string> addresses_of(const std::string& role, const ClusterSpec& cluster) {
  std::vector<std::string> addresses;
  const auto job = cluster.jobs.find(role);
  if (job == cluster.jobs.end()) return addresses;
  for (const auto& [index, address] : job->second)
    addresses.push_back(address);
  return addresses;
}

/// Returns the addresses in the order of the ranks, with tasks that other launchers start.
std::vector<std::string> trainers(const ClusterSpec& cluster, const Plan& plan) {
  std::vector<std::string> addresses;
  for (const Role& role : plan.roles) {
    if (role.ranked)
      std::ranges::move(addresses_of(role.name, cluster), std::back_inserter(addresses));
  }
  return addresses;
}

}  // namespace

void add_paddle_cluster(Environment& common, const JobFacts& job, const Plan& plan) {
  if (!job.master_address.empty())
    common["PADDLE_MASTER"] = host_port(job.master_address, job.master_port);
  common["PADDLE_TRAINERS_NUM"] = format("{}", plan.world_size);
  common["PADDLE_NNODES"] = format("{}", job.shape.node_count);
  add_list(common, "PADDLE_TRAINER_ENDPOINTS", trainers(job.cluster, plan));
  const std::vector<std::string> serving = addresses_of(server_role, job.cluster);
  if (!serving.empty()) add_list(common, "PADDLE_PSERVERS_IP_PORT_LIST", serving);
}

void add_paddle_role(Environment& environment, const JobFacts& job, const Task& task) {
  const bool serves = task.id.role == server_role;
  const std::string* address = job.cluster.address_of(task.id);
  const bool has_role = serves || task.rank >= 0;
  if (!job.cluster.jobs.contains(server_role) || address == nullptr || !has_role) return;
  environment["TRAINING_ROLE"] = environment["PADDLE_ROLE"] = serves ? "PSERVER" : "TRAINER";
  const auto [host, port] = split_address(*address);
  environment["POD_IP"] = host;
  environment["PADDLE_PORT"] = port;
}

void add_paddle_rank(Environment& environment, const JobFacts& job, const Plan& plan,
                     const Task& task) {
  const std::string rank = format("{}", task.rank);
  const std::string local_rank = format("{}", task.local_rank);
  const std::pair<const char*, std::string> variables[] = {
      {"PADDLE_TRAINER_ID", rank},
      {"PADDLE_GLOBAL_RANK", rank},
      {"PADDLE_GLOBAL_SIZE", format("{}", plan.world_size)},
      {"PADDLE_LOCAL_RANK", local_rank},
      {"PADDLE_RANK_IN_NODE", local_rank},
      {"PADDLE_LOCAL_SIZE", format("{}", plan.local_size(task))},
      {"FLAGS_selected_gpus", job.own_gpus > 0 ? own_gpu_numbers(job) : local_rank},
  };
  environment.insert(std::begin(variables), std::end(variables));
  const std::string* address = job.cluster.address_of(task.id);
  if (address != nullptr) environment["PADDLE_CURRENT_ENDPOINT"] = *address;
}

bool needs_paddle_gloo(const Environment& environment, const Environment& added, bool accelerator) {
  const auto seen = environment.find("CUDA_VISIBLE_DEVICES");
  const bool hidden = seen != environment.end() && seen->second.empty();
  return added.contains("PADDLE_TRAINER_ID") && (!accelerator || hidden);
}

}  // namespace dt
