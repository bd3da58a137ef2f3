#include "rendezvous/cluster/cluster_spec.h"

#include "base/format.h"
#include "base/text.h"

#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace dt {

namespace {

// Roles that have one task only in TensorFlow.
constexpr std::string_view single_roles[] = {"chief", "master", "evaluator"};

std::string entry_name(std::string_view role, std::string_view index) {
  return format("cluster: {}[{}]", printable(role), printable(index, 20));
}

/// Returns the reason why `address` is no host:port, or none.
std::optional<std::string> address_fault(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return "has no port";
  const std::string_view host = address.substr(0, colon);
  const auto port = parse_integer(address.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return "needs a port of 1 to 65535";
  if (host.empty() || host == "[]") return "has no host";
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos) {
    return "needs brackets around an IPv6 address, as [::1]:2222";
  }
  if (host.find_first_of(" \t\r\n,/") != std::string_view::npos) {
    return "has a character that no host name has";
  }
  return std::nullopt;
}

Result<> check_single_roles(const ClusterSpec& cluster) {
  for (const std::string_view role : single_roles) {
    const auto job = cluster.jobs.find(std::string(role));
    if (job == cluster.jobs.end()) continue;
    if (job->second.size() > 1) {
      return fail(Errc::input, format("cluster: {} tasks of role {}, at most one is allowed",
                                      job->second.size(), role));
    }
    if (!job->second.empty() && job->second.begin()->first != 0) {
      return fail(Errc::input,
                  format("{}: the only {} has index 0",
                         entry_name(role, std::to_string(job->second.begin()->first)), role));
    }
  }
  if (cluster.jobs.contains("chief") && cluster.jobs.contains("master")) {
    return fail(Errc::input, "cluster: chief and master are two names of one task; give one");
  }
  return {};
}

Json job_json(const std::map<int, std::string>& tasks) {
  // Keys are in order, so indices are dense when the last one is the count less one.
  const bool dense = !tasks.empty() && tasks.begin()->first == 0 &&
                     tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1;
  Json::Array list;
  Json::Object map;
  for (const auto& [index, address] : tasks) {
    if (dense) {
      list.emplace_back(address);
    } else {
      map.emplace_back(std::to_string(index), address);
    }
  }
  return dense ? Json(std::move(list)) : Json(std::move(map));
}

Result<std::string> address_from_json(std::string_view role, std::string_view index,
                                      const Json& json) {
  if (const auto* address = json.as<std::string>()) return *address;
  return fail(Errc::input, format("{}: expected \"host:port\", got {}", entry_name(role, index),
                                  printable(json.text(), 40)));
}

Result<std::map<int, std::string>> job_from_json(std::string_view role, const Json& json) {
  std::map<int, std::string> tasks;
  if (const auto* list = json.as<Json::Array>()) {
    for (size_t i = 0; i < list->size(); ++i) {
      std::string address = TRY(address_from_json(role, std::to_string(i), (*list)[i]));
      tasks[static_cast<int>(i)] = std::move(address);
    }
    return tasks;
  }
  const auto* map = json.as<Json::Object>();
  if (map == nullptr) {
    return fail(Errc::input, format("cluster: {}: expected a list of addresses or {{\"index\": "
                                    "\"host:port\"}}, got {}",
                                    printable(role), printable(json.text(), 40)));
  }
  for (const auto& [key, value] : *map) {
    const auto index = parse_integer(key);
    if (!index || *index < 0 || *index > std::numeric_limits<int>::max()) {
      return fail(Errc::input, format("{}: an index is a number from 0", entry_name(role, key)));
    }
    auto address = TRY(address_from_json(role, key, value));
    if (!tasks.emplace(static_cast<int>(*index), std::move(address)).second) {
      return fail(Errc::input, format("{}: given twice", entry_name(role, key)));
    }
  }
  return tasks;
}

}  // namespace

const std::string* ClusterSpec::address_of(const TaskId& task) const {
  const auto job = jobs.find(task.role);
  if (job == jobs.end()) return nullptr;
  const auto found = job->second.find(task.index);
  return found == job->second.end() ? nullptr : &found->second;
}

HostAndPort split_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool has_port = colon != std::string_view::npos;
  return {std::string(host), has_port ? std::string(address.substr(colon + 1)) : ""};
}

uint16_t port_of(std::string_view address) {
  return static_cast<uint16_t>(parse_integer(split_address(address).port).value_or(0));
}

Result<> ClusterSpec::check() const {
  TRY(check_single_roles(*this));
  std::map<std::string_view, std::string> seen;
  for (const auto& [role, tasks] : jobs) {
    if (role.empty()) return fail(Errc::input, "cluster: a role without a name");
    for (const auto& [index, address] : tasks) {
      const std::string name = entry_name(role, std::to_string(index));
      if (index < 0) return fail(Errc::input, format("{}: an index is a number from 0", name));
      if (const auto fault = address_fault(address)) {
        return fail(Errc::input, format("{}: '{}' {}", name, printable(address), *fault));
      }
      const auto [first, is_new] = seen.emplace(address, name);
      if (!is_new) {
        return fail(Errc::input, format("{}: '{}' is also the address of {}", name,
                                        printable(address), first->second));
      }
    }
  }
  return {};
}

Json ClusterSpec::json() const {
  Json::Object object;
  for (const auto& [role, tasks] : jobs)
    object.emplace_back(role, job_json(tasks));
  return object;
}

Result<ClusterSpec> ClusterSpec::from_json(const Json& json) {
  const auto* object = json.as<Json::Object>();
  if (object == nullptr) {
    return fail(Errc::input, format("cluster: expected {{\"role\": [\"host:port\", …]}}, got {}",
                                    printable(json.text(), 40)));
  }
  ClusterSpec cluster;
  for (const auto& [role, tasks] : *object) {
    std::map<int, std::string> job = TRY(job_from_json(role, tasks));
    cluster.jobs[role] = std::move(job);
  }
  TRY(cluster.check());
  return cluster;
}

ClusterSpec seen_by(const TaskId& task, const ClusterSpec& cluster, ClusterFilter filter) {
  const bool apart = filter == ClusterFilter::ps && (task.role == "worker" || task.role == "ps");
  if (!apart) return cluster;
  ClusterSpec seen;
  for (const auto& [role, tasks] : cluster.jobs) {
    const auto self = role == task.role ? tasks.find(task.index) : tasks.end();
    if (role != task.role) {
      seen.jobs.emplace(role, tasks);
    } else if (self != tasks.end()) {
      seen.jobs[role].insert(*self);
    }
  }
  return seen;
}

}  // namespace dt
