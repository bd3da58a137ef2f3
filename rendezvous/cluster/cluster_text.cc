#include "rendezvous/cluster/cluster_text.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dt {

namespace {

constexpr std::string_view shape = "worker|host:port;host:port,ps|host:port";

using Job = std::pair<std::string, std::map<int, std::string>>;

Result<Job> parse_job(std::string_view text) {
  const auto bars = std::ranges::count(text, '|');
  if (bars == 0) {
    return fail(Errc::input,
                format("cluster: '{}' has no |; expected {}, in quotes, since a shell takes an "
                       "unquoted | or ; for itself",
                       printable(text), shape));
  }
  const size_t bar = text.find('|');
  const std::string_view role = text.substr(0, bar);
  if (bars > 1)
    return fail(Errc::input, format("cluster: {}: more than one |; expected {}; roles are parted "
                                    "by commas",
                                    printable(role), shape));
  if (role.empty()) {
    return fail(Errc::input, format("cluster: '{}' has no role before the |", printable(text)));
  }
  const std::string_view tasks = text.substr(bar + 1);
  if (tasks.empty()) {
    return fail(Errc::input, format("cluster: {}: no tasks after the |", printable(role)));
  }
  Job job(std::string(role), {});
  int index = 0;
  for (const std::string_view address : split(tasks, ';')) {
    if (address.empty()) {
      return fail(Errc::input, format("cluster: {}[{}] is empty: two ; in a row, or one at the end",
                                      printable(role), index));
    }
    job.second.emplace(index++, address);
  }
  return job;
}

}  // namespace

std::string cluster_text(const ClusterSpec& cluster) {
  std::vector<std::string> jobs;
  for (const auto& [role, tasks] : cluster.jobs) {
    std::vector<std::string> addresses;
    for (const auto& [index, address] : tasks)
      addresses.push_back(address);
    jobs.push_back(role + "|" + join(addresses, ";"));
  }
  return join(jobs, ",");
}

Result<ClusterSpec> parse_cluster_text(std::string_view text) {
  if (trim(text).empty()) {
    return fail(Errc::input, format("cluster: empty; expected {}", shape));
  }
  ClusterSpec cluster;
  for (const std::string_view part : split(text, ',')) {
    auto [role, tasks] = TRY(parse_job(part));
    if (!cluster.jobs.emplace(role, std::move(tasks)).second) {
      return fail(Errc::input, format("cluster: {}: given twice", printable(role)));
    }
  }
  TRY(cluster.check());
  return cluster;
}

}  // namespace dt
