#include "launcher/config/role.h"

#include <algorithm>
#include <numeric>

namespace dt {

std::vector<Role> workers(int count) {
  return {{.name = "worker", .count = count}};
}

bool is_ranked(std::string_view role) {
  return role == "chief" || role == "master" || role == "worker";
}

int task_count(const std::vector<Role>& roles) {
  return std::accumulate(roles.begin(), roles.end(), 0,
                         [](int sum, const Role& role) { return sum + role.count; });
}

const Role* find_role(const std::vector<Role>& roles, std::string_view name) {
  const auto found = std::ranges::find(roles, name, &Role::name);
  return found == roles.end() ? nullptr : &*found;
}

}  // namespace dt
