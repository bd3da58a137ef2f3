#include "launcher/plan/role_ports.h"

#include "base/format.h"
#include "base/io/socket.h"

#include <map>

namespace dt {

std::optional<uint16_t> fixed_port(const Plan& plan, const Task& task) {
  const Role* const role = find_role(plan.roles, task.id.role);
  if (role == nullptr || role->ports.empty()) return std::nullopt;
  const auto index = static_cast<size_t>(task.id.index);
  if (role->ports.size() == 1) return role->ports.front();
  return index < role->ports.size() ? std::optional(role->ports[index]) : std::nullopt;
}

std::vector<std::string> fixed_addresses(const Plan& plan, const PlannedHost& host) {
  std::vector<std::string> addresses;
  for (const size_t at : host.tasks) {
    if (const auto port = fixed_port(plan, plan.tasks[at]))
      addresses.push_back(host_port(host.host.name, *port));
  }
  return addresses;
}

Result<> check_ports(const Plan& plan) {
  for (const Role& role : plan.roles) {
    const size_t count = role.ports.size();
    if (count > 1 && count != static_cast<size_t>(role.count)) {
      return fail(Errc::input, format("--role-ports: role {} has {} tasks, but {} ports", role.name,
                                      role.count, count));
    }
  }
  for (const PlannedHost& host : plan.hosts) {
    std::map<uint16_t, const Task*> users;
    for (const size_t at : host.tasks) {
      const Task& task = plan.tasks[at];
      const auto port = fixed_port(plan, task);
      if (!port) continue;
      const auto [user, fresh] = users.try_emplace(*port, &task);
      if (fresh) continue;
      return fail(
          Errc::input,
          format("--role-ports: {} and {} are both on {}, and have port {}; give each task a "
                 "port of its own",
                 user->second->id.text(), task.id.text(), host.host.name, *port));
    }
  }
  return {};
}

}  // namespace dt
